"""The same exercise built another way: loops in plain Python, attention from matrices, Adam by hand.

It shares nothing with the model but the driver's text. What hangs on random numbers uses the generator in
another order, so only what the cases ask for can agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

DRIVER = Path(__file__).parents[2] / "cases" / "mlm_training" / "driver.py"


def build_vocab(text: str) -> dict[str, int]:
    """Ids by insertion into an ordered list."""
    known: list[str] = []
    for character in text:
        if character not in known:
            at = sum(other < character for other in known)
            known.insert(at, character)
    return {character: 1 + at for at, character in enumerate(known)}


def encode(text: str, vocab: dict[str, int]) -> Any:
    """(T,) ids, counted into an array one by one."""
    ids = np.zeros(len(text), np.int64)
    for at, character in enumerate(text):
        if vocab.get(character) is None:
            raise ValueError(f"no id for {character!r}")
        ids[at] = vocab[character]
    return torch.from_numpy(ids)


def get_mlm_batch(data: Any, batch_size: int, seq_len: int, mask_prob: float, generator: Any) -> Any:
    """Row by row and position by position; numpy draws, from a seed that the generator gives."""
    if not (0 <= mask_prob <= 1 and seq_len <= len(data)):
        raise ValueError("no such batch")
    rng = np.random.default_rng(int(torch.randint(2**40, (1,), generator=generator)))
    inputs, labels = [], []
    for _ in range(batch_size):
        start = int(rng.integers(0, len(data) - seq_len, endpoint=True))
        row, wanted = [], []
        for token in data.tolist()[start : start + seq_len]:
            hidden = rng.uniform() < mask_prob
            row.append(0 if hidden else token)
            wanted.append(token if hidden else -100)
        inputs.append(row)
        labels.append(wanted)
    return torch.tensor(inputs), torch.tensor(labels)


def masked_loss(logits: Any, labels: Any) -> Any:
    """The sum over positions, each by its largest logit, in plain loops."""
    total, count = (logits * 0).sum(), 0
    for row, wanted in zip(logits, labels.tolist(), strict=True):
        for scores, token in zip(row, wanted, strict=True):
            if token != -100:
                largest = scores.detach().max()
                total = total + largest + (scores - largest).exp().sum().log() - scores[token]
                count += 1
    return total / count if count else total


class TinyMLM(nn.Module):  # type: ignore[misc]
    """Attention from matrices before a feed-forward part; sines and cosines for the positions."""

    def __init__(self, vocab_size: int, d_model: int, n_heads: int, n_layers: int, max_len: int) -> None:
        super().__init__()
        self.heads, self.width, self.max_len = n_heads, d_model, max_len
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(d_model),
                    "qkv": nn.Linear(d_model, 3 * d_model),
                    "out": nn.Linear(d_model, d_model),
                    "wide": nn.Sequential(
                        nn.LayerNorm(d_model),
                        nn.Linear(d_model, 2 * d_model),
                        nn.GELU(),
                        nn.Linear(2 * d_model, d_model),
                    ),
                }
            )
            for _ in range(n_layers)
        )
        self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size))

    def forward(self, tokens: Any) -> Any:
        n, t = tokens.shape
        if t > self.max_len:
            raise ValueError(f"{t} tokens, at most {self.max_len} are allowed")
        angles = [
            [
                math.sin(at / 50 ** (2 * (d // 2) / self.width) + (d % 2) * math.pi / 2)
                for d in range(self.width)
            ]
            for at in range(t)
        ]
        x = self.table[tokens] + torch.tensor(angles)
        for block in self.blocks:
            q, k, v = block["qkv"](block["norm"](x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            weights = (q @ k.transpose(2, 3) / math.sqrt(q.shape[3])).softmax(3)
            x = x + block["out"]((weights @ v).transpose(1, 2).reshape(n, t, -1))
            x = x + block["wide"](x)
        return self.head(x)


def train(
    model: Any,
    data: Any,
    steps: int,
    batch_size: int,
    seq_len: int,
    mask_prob: float,
    lr: float,
    generator: Any,
    on_step: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Adam written out (Kingma and Ba, 2015, algorithm 1), with gradients cleared by hand."""
    model.train()
    weights = [p for p in model.parameters() if p.requires_grad]
    first = [torch.zeros_like(p) for p in weights]
    second = [torch.zeros_like(p) for p in weights]
    losses: list[float] = []
    for step in range(1, steps + 1):
        inputs, labels = get_mlm_batch(data, batch_size, seq_len, mask_prob, generator)
        for p in weights:
            p.grad = None
        logits = model(inputs)
        chosen = labels >= 0
        scores = logits[chosen]
        value = (scores.logsumexp(1) - scores[torch.arange(len(scores)), labels[chosen]]).sum()
        value = value / max(int(chosen.sum()), 1)
        value.backward()
        with torch.no_grad():
            for p, m, v in zip(weights, first, second, strict=True):
                if p.grad is None:
                    continue
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).add_(p.grad**2, alpha=0.001)
                p -= lr * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
        losses.append(value.item())
        if on_step is not None:
            on_step(step, losses[-1])
    return losses


def predict_masked(model: Any, text: str, positions: Any, vocab: dict[str, int]) -> Any:
    """Probabilities by exp and a sum in numpy, the best found one after another."""
    ids = encode(text, vocab).numpy()
    for at in positions:
        if not 0 <= at < len(text):
            raise IndexError(f"position {at}")
        ids[at] = 0
    letters = {number: character for character, number in vocab.items()}
    letters[0] = "[MASK]"
    model.eval()
    with torch.no_grad():
        rows = model(torch.from_numpy(ids[None])).numpy()[0]
    found = []
    for at in positions:
        powers = [math.exp(score - max(rows[at])) for score in rows[at].tolist()]
        left = dict(enumerate(power / math.fsum(powers) for power in powers))
        best: list[tuple[str, float]] = []
        while left and len(best) < 5:
            token = max(left, key=lambda one: left[one])
            best.append((letters[token], left.pop(token)))
        found.append({"position": at, "original": text[at], "top_predictions": best})
    return found


SOLUTION = SimpleNamespace(
    build_vocab=build_vocab,
    encode=encode,
    get_mlm_batch=get_mlm_batch,
    masked_loss=masked_loss,
    TinyMLM=TinyMLM,
    train=train,
    predict_masked=predict_masked,
)


def _bound(call: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": "driver_of_crosscheck"}
    exec(compile(DRIVER.read_text(encoding="utf-8"), str(DRIVER), "exec", dont_inherit=True), namespace)
    return lambda *arguments: namespace[call](SOLUTION, *arguments)


vocabulary = _bound("vocabulary")
encoded = _bound("encoded")
batch = _bound("batch")
batches = _bound("batches")
loss = _bound("loss")
loss_gradient = _bound("loss_gradient")
logits = _bound("logits")
training = _bound("training")
fit = _bound("fit")
predictions = _bound("predictions")
