"""The two heads and their packed output."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import Array, Norm
from ..steps import gelu as exact_gelu

MISCONCEPTIONS = Misconceptions()


@MISCONCEPTIONS.add(clause="mlm_transform")
def no_transform() -> dict[str, Any]:
    """The transform is left out

    What it does:
        The decoder reads the block's output directly.
    Why it is wrong:
        The head for masked tokens has a linear map, a GELU and a normalization of its own.
    How it looks:
        self.mlm_decoder(hidden)
    What to write instead:
        self.mlm_decoder(self.mlm_norm(F.gelu(self.mlm_transform(hidden))))
    """
    return {
        "transform": lambda hidden, linear: hidden,
        "activate_transform": lambda x, gelu: x,
        "norm_transform": lambda x, norm: x,
    }


@MISCONCEPTIONS.add(clause="mlm_transform", step="activate_transform")
def transform_without_gelu(x: Array, gelu: Norm) -> Array:
    """No GELU in the transform

    What it does:
        The linear map is normalized directly.
    Why it is wrong:
        GELU comes between the two.
    How it looks:
        self.mlm_norm(self.mlm_transform(hidden))
    What to write instead:
        self.mlm_norm(F.gelu(self.mlm_transform(hidden)))
    """
    return x


@MISCONCEPTIONS.add(clause="mlm_transform", step="norm_transform")
def transform_not_normalized(x: Array, norm: Norm) -> Array:
    """No normalization in the transform

    What it does:
        The decoder reads GELU's output.
    Why it is wrong:
        mlm_norm comes before the decoder.
    How it looks:
        self.mlm_decoder(F.gelu(self.mlm_transform(hidden)))
    What to write instead:
        self.mlm_decoder(self.mlm_norm(F.gelu(self.mlm_transform(hidden))))
    """
    return x


@MISCONCEPTIONS.add(clause="mlm_transform")
def norm_before_gelu() -> dict[str, Any]:
    """Normalized before GELU

    What it does:
        The transform's normalization comes before its GELU.
    Why it is wrong:
        The order is linear, GELU, normalization.
    How it looks:
        F.gelu(self.mlm_norm(self.mlm_transform(hidden)))
    What to write instead:
        self.mlm_norm(F.gelu(self.mlm_transform(hidden)))
    """
    return {
        "activate_transform": lambda x, gelu: x,
        "norm_transform": lambda x, norm: exact_gelu(norm(x)),
    }


@MISCONCEPTIONS.add(clause="tied_decoder", step="decoder_weight")
def untied(words: Array, loaded: Array, still: Array) -> Array:
    """The decoder has a weight of its own

    What it does:
        Word embeddings and decoder are two parameters, which may start equal.
    Why it is wrong:
        There is one parameter, used in both places, which learns from both.
    How it looks:
        self.mlm_decoder = nn.Linear(8, 16)
        self.mlm_decoder.weight.data = self.word_embeddings.weight.data.clone()
    What to write instead:
        self.mlm_decoder.weight = self.word_embeddings.weight
    """
    return loaded


@MISCONCEPTIONS.add(clause="tied_decoder", step="decoder_weight")
def decoder_detached(words: Array, loaded: Array, still: Array) -> Array:
    """The decoder gets the values of the word embeddings, and no gradient

    What it does:
        At each call the decoder's weight is set to the embeddings' values, or they are detached.
    Why it is wrong:
        The word embeddings learn from the decoder too, so it has to be the parameter itself.
    How it looks:
        self.mlm_decoder.weight.data = self.word_embeddings.weight.data
    What to write instead:
        self.mlm_decoder.weight = self.word_embeddings.weight  # once, in __init__
    """
    return still


@MISCONCEPTIONS.add(clause="decoder_bias", step="add_decoder_bias")
def decoder_bias_left_out(logits: Array, bias: Array) -> Array:
    """The decoder's bias is left out

    What it does:
        The logits are the product with the word embeddings alone.
    Why it is wrong:
        Each token has a bias, mlm_decoder.bias.
    How it looks:
        y @ self.word_embeddings.weight.T
    What to write instead:
        F.linear(y, self.word_embeddings.weight, self.mlm_decoder.bias)
    """
    return logits


@MISCONCEPTIONS.add(clause="packing", step="token_output")
def tokens_as_probabilities(logits: Array) -> Array:
    """Token probabilities instead of logits

    What it does:
        A softmax is taken over the vocabulary.
    Why it is wrong:
        Raw logits are asked for; the loss does the rest.
    How it looks:
        torch.softmax(self.mlm_decoder(y), dim=-1)
    What to write instead:
        self.mlm_decoder(y)
    """
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="packing")
def packed_by_token() -> dict[str, Any]:
    """Packed by token, then by position

    What it does:
        The six logits of token 0 come first, then those of token 1.
    Why it is wrong:
        The 16 logits of position 0 come first, then those of position 1.
    How it looks:
        mlm.transpose(1, 2).flatten(1)
    What to write instead:
        mlm.flatten(1)
    """

    def pack(token_logits: Array, pair_logits: Array) -> Array:
        rows = token_logits.shape[:-2]
        by_token = np.swapaxes(token_logits, -2, -1).reshape(*rows, 96)
        return np.concatenate([by_token, pair_logits.reshape(*rows, 2)], axis=-1)

    return {"pack": pack}


@MISCONCEPTIONS.add(clause="packing")
def pair_first() -> dict[str, Any]:
    """The pair logits come first

    What it does:
        The two pair logits are put before the 96 token logits.
    Why it is wrong:
        They come last, in places 96 and 97.
    How it looks:
        torch.cat([nsp, mlm.flatten(1)], dim=1)
    What to write instead:
        torch.cat([mlm.flatten(1), nsp], dim=1)
    """

    def pack(token_logits: Array, pair_logits: Array) -> Array:
        rows = token_logits.shape[:-2]
        return np.concatenate([pair_logits.reshape(*rows, 2), token_logits.reshape(*rows, 96)], axis=-1)

    return {"pack": pack}


@MISCONCEPTIONS.add(clause="pooler", step="pool")
def mean_pooled(hidden: Array) -> Array:
    """The mean of all positions is pooled

    What it does:
        The pooler reads the average of the six hidden states.
    Why it is wrong:
        It reads position 0, where CLS stands.
    How it looks:
        self.pooler(hidden.mean(dim=1))
    What to write instead:
        self.pooler(hidden[:, 0])
    """
    return hidden.mean(axis=-2, keepdims=True)


@MISCONCEPTIONS.add(clause="pooler", step="pool")
def last_pooled(hidden: Array) -> Array:
    """The last position is pooled

    What it does:
        The pooler reads position 5.
    Why it is wrong:
        It reads position 0, where CLS stands.
    How it looks:
        self.pooler(hidden[:, -1])
    What to write instead:
        self.pooler(hidden[:, 0])
    """
    return hidden[..., -1:, :]


@MISCONCEPTIONS.add(clause="pooler", step="activate_pooler")
def pooler_without_tanh(x: Array) -> Array:
    """The pooler has no tanh

    What it does:
        nsp_head reads the pooler's linear map.
    Why it is wrong:
        tanh comes between them.
    How it looks:
        self.nsp_head(self.pooler(hidden[:, 0]))
    What to write instead:
        self.nsp_head(torch.tanh(self.pooler(hidden[:, 0])))
    """
    return x


@MISCONCEPTIONS.add(clause="pooler")
def no_pooler() -> dict[str, Any]:
    """The pooler is left out

    What it does:
        nsp_head reads the hidden state of position 0.
    Why it is wrong:
        A linear map and tanh come first.
    How it looks:
        self.nsp_head(hidden[:, 0])
    What to write instead:
        self.nsp_head(torch.tanh(self.pooler(hidden[:, 0])))
    """
    return {"pooler": lambda pooled, linear: pooled, "activate_pooler": lambda x: x}


@MISCONCEPTIONS.add(clause="pair_logits", step="pair_output")
def pair_as_probabilities(logits: Array) -> Array:
    """Pair probabilities instead of logits

    What it does:
        A softmax is taken of the two pair logits.
    Why it is wrong:
        Raw logits are asked for; the loss does the rest.
    How it looks:
        torch.softmax(self.nsp_head(pooled), dim=-1)
    What to write instead:
        self.nsp_head(pooled)
    """
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@MISCONCEPTIONS.add(clause="pair_logits", step="pair_output")
def pair_swapped(logits: Array) -> Array:
    """The two pair logits are swapped

    What it does:
        The second logit comes first.
    Why it is wrong:
        They come in the order of the rows of nsp_head.
    How it looks:
        nsp.flip(-1)
    What to write instead:
        nsp
    """
    return logits[..., ::-1]
