def build_vocab(text):
    raise NotImplementedError


def encode(text, vocab):
    raise NotImplementedError


def get_mlm_batch(data, batch_size, seq_len, mask_prob, generator):
    raise NotImplementedError


def masked_loss(logits, labels):
    raise NotImplementedError


class TinyMLM:
    # Make it a torch.nn.Module.
    def __init__(self, vocab_size, d_model, n_heads, n_layers, max_len):
        raise NotImplementedError


def train(model, data, steps, batch_size, seq_len, mask_prob, lr, generator, on_step=None):
    raise NotImplementedError


def predict_masked(model, text, positions, vocab):
    raise NotImplementedError
