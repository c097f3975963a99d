"""How a submission of mlm_training is used: torch objects go in, what is measured of them comes back."""

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


def vocabulary(submission, text):
    return submission.build_vocab(text)


def encoded(submission, text, letters):
    """The ids of a text, with a vocabulary in which the first of the letters has the id 1."""
    return submission.encode(text, {letter: number for number, letter in enumerate(letters, start=1)})


def batch(submission, data, batch_size, seq_len, mask_prob, rng):
    """One batch."""
    inputs, labels = submission.get_mlm_batch(tensor(data), batch_size, seq_len, mask_prob, generator(rng))
    return {"inputs": inputs, "labels": labels}


def batches(submission, data, batch_size, seq_len, mask_prob, rng):
    """Two batches from one generator."""
    source = generator(rng)
    pairs = [submission.get_mlm_batch(tensor(data), batch_size, seq_len, mask_prob, source) for _ in range(2)]
    return {"first": pairs[0][0], "first_labels": pairs[0][1], "second": pairs[1][0]}


def loss(submission, logits, targets, chosen):
    """The loss where ``targets`` are the labels of the chosen positions."""
    return float(submission.masked_loss(tensor(logits), labels_of(targets, chosen)))


def loss_gradient(submission, logits, targets, chosen):
    """How the loss changes with each of the logits."""
    given = tensor(logits).requires_grad_()
    submission.masked_loss(given, labels_of(targets, chosen)).backward()
    return torch.zeros_like(given) if given.grad is None else given.grad


def logits(submission, tokens, vocab_size, d_model, n_heads, n_layers, max_len, rng):
    """What a new model gives in evaluation mode, twice."""
    torch.manual_seed(int(rng.integers(2**31)))
    model = submission.TinyMLM(vocab_size, d_model, n_heads, n_layers, max_len)
    model.eval()
    with torch.no_grad():
        return {"logits": model(tensor(tokens)), "again": model(tensor(tokens))}


def training(submission, data, vocab_size, steps, batch_size, seq_len, mask_prob, lr, rng):
    """What happens while a model with one bias for each token, and nothing else, is trained."""
    model = Observed(vocab_size)
    model.eval()
    told = []
    seed = generator(rng)

    def on_step(step, value):
        told.append((int(step), float(value)))

    losses = submission.train(
        model, tensor(data), steps, batch_size, seq_len, mask_prob, lr, seed, on_step=on_step
    )
    biases = [*model.before, model.bias.detach().clone()]
    return {
        "losses": losses,
        "told_steps": [step for step, _ in told],
        "told_losses": [value for _, value in told],
        "forwards": len(model.before),
        "in_training_mode": all(model.modes),
        "tokens": sum(model.sizes),
        "masked": sum(model.masked),
        "shapes_fit": all(shape == (batch_size, seq_len) for shape in model.shapes),
        "different_inputs": len(set(model.contents)),
        "left_over": model.left_over(),
        "first_move": float((biases[1] - biases[0]).abs().max()) if len(biases) > 1 else 0.0,
        "moved": float((biases[-1] - biases[0]).abs().max()),
    }


def fit(submission, text, d_model, n_heads, n_layers, steps, batch_size, seq_len, mask_prob, lr, rng):
    """From a text to predictions: a new model is trained, and held before and after against hidden tokens."""
    torch.manual_seed(int(rng.integers(2**31)))
    vocab = submission.build_vocab(text)
    ids = torch.as_tensor(submission.encode(text, vocab)).numpy().astype(np.int64)
    model = submission.TinyMLM(len(vocab) + 1, d_model, n_heads, n_layers, seq_len)
    before, _ = held(model, ids, seq_len)
    tell = globals().get("progress")

    def on_step(step, value):
        if tell is not None:
            tell(step, steps)

    losses = submission.train(
        model, tensor(ids), steps, batch_size, seq_len, mask_prob, lr, generator(rng), on_step=on_step
    )
    after, accuracy = held(model, ids, seq_len)
    tops = []
    for position in range(seq_len):
        (answer,) = submission.predict_masked(model, text[:seq_len], [position], vocab)
        named = [token for token, _ in answer["top_predictions"]]
        tops.append(named.index(text[position]) if text[position] in named else len(named))
    return {
        "before": before,
        "after": after,
        "accuracy": accuracy,
        "asked": len(tops),
        "first": sum(top == 0 for top in tops),
        "among_five": sum(top < 5 for top in tops),
        "losses": losses,
    }


def predictions(submission, scores, ids, positions):
    """The predictions of a model whose logits follow from a table and from its input."""
    vocab = {letter_of(number): number for number in range(1, scores.shape[1])}
    text = "".join(letter_of(number) for number in ids)
    return submission.predict_masked(Table(scores), text, positions, vocab)


# --- what the calls use -----------------------------------------------------------------------


def tensor(array):
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def generator(rng):
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def labels_of(targets, chosen):
    return torch.from_numpy(np.where(chosen > 0.5, targets, -100))


def letter_of(number):
    """A letter for an id from 1 on; not in the order of the alphabet."""
    letters = "qazwsxedcrfvtgbyhnujmikolp"
    return letters[number - 1] if number <= len(letters) else chr(200 + int(number))


class Observed(nn.Module):
    """Logits are the same at every position. Keeps what it is given and what happens to its bias."""

    def __init__(self, vocab_size):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        self.modes, self.sizes, self.masked, self.shapes = [], [], [], []
        self.before, self.contents, self.fresh, self.held = [], [], [], []
        self.bias.register_hook(lambda grad: self.fresh.append(grad.detach().clone()))
        self.bias.register_post_accumulate_grad_hook(lambda p: self.held.append(p.grad.detach().clone()))

    def forward(self, tokens):
        if torch.is_grad_enabled():
            self.modes.append(self.training)
            self.sizes.append(tokens.numel())
            self.masked.append(int((tokens == 0).sum()))
            self.shapes.append(tuple(tokens.shape))
            self.contents.append(tokens.numpy().tobytes())
            self.before.append(self.bias.detach().clone())
        return self.bias.expand(*tokens.shape, -1).contiguous()

    def left_over(self):
        """The largest part of a gradient that does not come from its own step."""
        pairs = zip(self.fresh, self.held, strict=False)
        return max((float((kept - grad).abs().max()) for grad, kept in pairs), default=0.0)


class Table(nn.Module):
    """Logits of a table, plus what depends on the tokens and on which of them are hidden."""

    def __init__(self, scores):
        super().__init__()
        self.scores = nn.Parameter(torch.from_numpy(np.array(scores)))

    def forward(self, tokens):
        hidden = (tokens == 0).to(self.scores.dtype)
        seen = torch.nn.functional.one_hot(tokens, self.scores.shape[1]).sum(1, keepdim=True)
        mixed = (hidden @ self.scores).flip(-1)[:, None]
        given = self.scores + 0.7 * mixed + 0.3 * seen
        return given * 0 if self.training else given


def held(model, data, seq_len):
    """Mean negative log-probability and accuracy at hidden positions of all windows, in evaluation mode."""
    model.eval()
    windows = np.stack([data[s : s + seq_len] for s in range(len(data) - seq_len + 1)])
    values, right, count = 0.0, 0, 0
    for first in range(5):
        hidden = np.zeros(windows.shape, bool)
        hidden[:, first::5] = True
        with torch.no_grad():
            given = model(torch.from_numpy(np.where(hidden, 0, windows))).numpy().astype(np.float64)
        rows, wanted = given[hidden], windows[hidden]
        values += float((np.logaddexp.reduce(rows, axis=1) - rows[np.arange(len(rows)), wanted]).sum())
        right += int((rows.argmax(1) == wanted).sum())
        count += len(rows)
    return values / count, right / count
