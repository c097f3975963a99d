from torch import nn


class TinyBertPretraining(nn.Module):
    """One post-norm encoder block of width 8 with the two heads of BERT's pretraining."""

    def __init__(self):
        super().__init__()
        raise NotImplementedError

    def forward(self, tokens, segments):
        """Packed logits (N, 98) of tokens (N, 6) and segments (N, 6), both int64."""
        raise NotImplementedError


def masked_loss(logits, positions, original):
    """The mean cross entropy of logits (N, 6, 16) at a list of positions, as a tensor of shape ().

    original (N, 6) holds the tokens as they were before some were masked.
    """
    raise NotImplementedError
