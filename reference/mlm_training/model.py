"""Training a small masked language model, in steps that the known mistakes replace.

Every call goes through the driver, as a submission's do: a namespace with the functions that a student
writes is made of the steps and handed to it. The loss is the mean of -log softmax(logits)[label] over the
selected positions (Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding", 2019, section 3.1); the optimizer is AdamW (Loshchilov and Hutter, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

DRIVER = Path(__file__).parents[2] / "cases" / "mlm_training" / "driver.py"
MASK = 0
IGNORED = -100


# --- text ---------------------------------------------------------------------------------------


def characters(text: str) -> list[str]:
    """The different characters of a text, in order."""
    return sorted(set(text))


def number(found: list[str]) -> dict[str, int]:
    """Ids from 1 on; 0 is that of [MASK]."""
    return dict(zip(found, range(1, len(found) + 1), strict=True))


def look_up(text: str, vocab: dict[str, int]) -> Any:
    """(T,) ids of a text; KeyError for a character that has none."""
    return torch.tensor([vocab[character] for character in text], dtype=torch.int64)


# --- batches ------------------------------------------------------------------------------------


def check_batch(data: Any, seq_len: int, mask_prob: float) -> None:
    """Raise ValueError for a batch that can't be made."""
    if len(data) < seq_len:
        raise ValueError("the data are shorter than seq_len")
    if mask_prob < 0 or mask_prob > 1:
        raise ValueError("mask_prob is no probability")


def draw_starts(choices: int, batch_size: int, generator: Any) -> Any:
    """(B,) first positions of windows, each of the choices equally likely."""
    return torch.randint(choices, (batch_size,), generator=generator)


def count_starts(data: Any, seq_len: int) -> int:
    """How many windows of seq_len tokens there are."""
    return len(data) - seq_len + 1


def cut(data: Any, starts: Any, seq_len: int) -> Any:
    """(B, T) windows of the data."""
    return data.unfold(0, seq_len, 1)[starts]


def select(windows: Any, mask_prob: float, generator: Any) -> Any:
    """(B, T) which positions are selected, each with the same probability."""
    return torch.rand(windows.shape, generator=generator) < mask_prob


def hide(windows: Any, selected: Any) -> Any:
    """(B, T) the inputs: [MASK] where a position is selected."""
    return windows.masked_fill(selected, MASK)


def label(windows: Any, selected: Any) -> Any:
    """(B, T) the labels: the token where a position is selected, elsewhere -100."""
    return windows.masked_fill(selected.logical_not(), IGNORED)


# --- loss ---------------------------------------------------------------------------------------


def counted(labels: Any) -> Any:
    """(B, T) which positions have a label."""
    return labels != IGNORED


def token_losses(logits: Any, labels: Any) -> Any:
    """(M,) -log softmax(logits)[label] of M positions."""
    return -logits.log_softmax(1).gather(1, labels[:, None])


def average(losses: Any) -> Any:
    """The mean of the losses; 0 where there are none."""
    return losses.sum() / max(losses.numel(), 1)


# --- model --------------------------------------------------------------------------------------


class Network(nn.Module):  # type: ignore[misc]
    """Token and position embeddings, encoder layers, a layer to the vocabulary: (B, T) ids to (B, T, V)."""

    def __init__(
        self, steps: Any, vocab_size: int, d_model: int, n_heads: int, n_layers: int, max_len: int
    ) -> None:
        super().__init__()
        self.steps = steps
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(max_len, d_model)
        layer = nn.TransformerEncoderLayer(d_model, n_heads, dim_feedforward=d_model, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids: Any) -> Any:
        steps = self.steps
        return steps.score(self.head, steps.mix(self.encoder, steps.embed(self.tokens, self.places, ids)))


def embed(tokens: Any, places: Any, ids: Any) -> Any:
    """(B, T, D): a token's row and its position's."""
    return tokens(ids).add(places(torch.arange(len(ids.T))))


def mix(encoder: Any, x: Any) -> Any:
    """(B, T, D): every position reads every other one of its example."""
    return encoder(x)


def score(head: Any, x: Any) -> Any:
    """(B, T, V): a score for every entry of the vocabulary."""
    return head(x)


# --- training -----------------------------------------------------------------------------------


def begin(model: Any) -> None:
    """Dropout and its like are on."""
    model.train()


def optimizer_for(model: Any, lr: float) -> Any:
    """What changes the parameters."""
    return torch.optim.AdamW(model.parameters(), lr=lr)


def rounds(number_of_steps: int) -> range:
    """One for each step."""
    return range(number_of_steps)


def next_batch(make: Callable[[], Any], last: Any) -> Any:
    """The batch of a step; ``last`` is that of the step before, None in the first."""
    return make()


def clear(optimizer: Any) -> None:
    """Forget the gradients of the step before."""
    optimizer.zero_grad()


def improve(optimizer: Any, loss: Any) -> None:
    """One step down the gradient."""
    loss.backward()
    optimizer.step()


def record(losses: list[float], loss: Any) -> None:
    """Keep the loss as a float."""
    losses.append(loss.item())


def tell(on_step: Any, losses: list[float]) -> None:
    """Call back with the number of finished steps and the last loss."""
    if on_step is not None:
        on_step(len(losses), losses[-1])


# --- prediction ---------------------------------------------------------------------------------


def quiet(model: Any) -> None:
    """Dropout and its like are off."""
    model.eval()


def hide_at(ids: Any, positions: list[int]) -> Any:
    """(1, T) ids with [MASK] at all the positions."""
    return ids.index_fill(0, torch.tensor(positions, dtype=torch.int64), MASK)[None]


def probabilities(logits: Any) -> Any:
    """Of the logits of one position."""
    return logits.softmax(0)


def best(chances: Any) -> tuple[list[int], list[float]]:
    """The five most probable ids, or all where there are fewer, and their probabilities."""
    ordered = chances.sort(descending=True)
    return ordered.indices[:5].tolist(), ordered.values[:5].tolist()


def name_of(vocab: dict[str, int], token: int) -> str:
    """The character of an id."""
    return {MASK: "[MASK]", **{number: character for character, number in vocab.items()}}[token]


@dataclass(frozen=True)
class Steps:
    """The steps in the order of their use."""

    characters: Callable[..., Any] = characters
    number: Callable[..., Any] = number
    look_up: Callable[..., Any] = look_up
    check_batch: Callable[..., Any] = check_batch
    count_starts: Callable[..., Any] = count_starts
    draw_starts: Callable[..., Any] = draw_starts
    cut: Callable[..., Any] = cut
    select: Callable[..., Any] = select
    hide: Callable[..., Any] = hide
    label: Callable[..., Any] = label
    counted: Callable[..., Any] = counted
    token_losses: Callable[..., Any] = token_losses
    average: Callable[..., Any] = average
    embed: Callable[..., Any] = embed
    mix: Callable[..., Any] = mix
    score: Callable[..., Any] = score
    begin: Callable[..., Any] = begin
    optimizer_for: Callable[..., Any] = optimizer_for
    rounds: Callable[..., Any] = rounds
    next_batch: Callable[..., Any] = next_batch
    clear: Callable[..., Any] = clear
    improve: Callable[..., Any] = improve
    record: Callable[..., Any] = record
    tell: Callable[..., Any] = tell
    quiet: Callable[..., Any] = quiet
    hide_at: Callable[..., Any] = hide_at
    probabilities: Callable[..., Any] = probabilities
    best: Callable[..., Any] = best
    name_of: Callable[..., Any] = name_of


STEPS = Steps()


def solution(steps: Any) -> SimpleNamespace:
    """The functions that a student writes, made of steps."""

    def build_vocab(text: str) -> dict[str, int]:
        found: dict[str, int] = steps.number(steps.characters(text))
        return found

    def encode(text: str, vocab: dict[str, int]) -> Any:
        return steps.look_up(text, vocab)

    def get_mlm_batch(data: Any, batch_size: int, seq_len: int, mask_prob: float, generator: Any) -> Any:
        steps.check_batch(data, seq_len, mask_prob)
        starts = steps.draw_starts(steps.count_starts(data, seq_len), batch_size, generator)
        windows = steps.cut(data, starts, seq_len)
        selected = steps.select(windows, mask_prob, generator)
        return steps.hide(windows, selected), steps.label(windows, selected)

    def masked_loss(logits: Any, labels: Any) -> Any:
        kept = steps.counted(labels)
        return steps.average(steps.token_losses(logits[kept], labels[kept]))

    def tiny_mlm(vocab_size: int, d_model: int, n_heads: int, n_layers: int, max_len: int) -> Network:
        return Network(steps, vocab_size, d_model, n_heads, n_layers, max_len)

    def train(
        model: Any,
        data: Any,
        number_of_steps: int,
        batch_size: int,
        seq_len: int,
        mask_prob: float,
        lr: float,
        generator: Any,
        on_step: Any = None,
    ) -> list[float]:
        steps.begin(model)
        optimizer = steps.optimizer_for(model, lr)
        losses: list[float] = []
        batch: Any = None

        def make() -> Any:
            return get_mlm_batch(data, batch_size, seq_len, mask_prob, generator)

        for _ in steps.rounds(number_of_steps):
            batch = steps.next_batch(make, batch)
            loss = masked_loss(model(batch[0]), batch[1])
            steps.clear(optimizer)
            steps.improve(optimizer, loss)
            steps.record(losses, loss)
            steps.tell(on_step, losses)
        return losses

    def predict_masked(
        model: Any, text: str, positions: list[int], vocab: dict[str, int]
    ) -> list[dict[str, Any]]:
        steps.quiet(model)
        logits = model(steps.hide_at(encode(text, vocab), positions))[0]
        found = []
        for position in positions:
            tokens, chances = steps.best(steps.probabilities(logits[position]))
            names = [steps.name_of(vocab, token) for token in tokens]
            pairs = list(zip(names, chances, strict=True))
            found.append({"position": position, "original": text[position], "top_predictions": pairs})
        return found

    return SimpleNamespace(
        build_vocab=build_vocab,
        encode=encode,
        get_mlm_batch=get_mlm_batch,
        masked_loss=masked_loss,
        TinyMLM=tiny_mlm,
        train=train,
        predict_masked=predict_masked,
    )


def drivers() -> dict[str, Any]:
    """The functions of the driver by their names."""
    namespace: dict[str, Any] = {"__name__": "driver_of_mlm_training"}
    exec(compile(DRIVER.read_text(encoding="utf-8"), str(DRIVER), "exec", dont_inherit=True), namespace)
    return namespace


CALLS = (
    "vocabulary",
    "encoded",
    "batch",
    "batches",
    "loss",
    "loss_gradient",
    "logits",
    "training",
    "fit",
    "predictions",
)
DRIVERS = drivers()


def run_call(call: str) -> Callable[..., Any]:
    """The function that makes a call of steps, arguments and a dtype."""

    def made(steps: Any, arguments: tuple[Any, ...], dtype: str = "float64") -> Any:
        return DRIVERS[call](solution(steps), *arguments)

    return made


run = {call: run_call(call) for call in CALLS}


def entry(call: str) -> Callable[..., Any]:
    """The function that makes a call as it should be."""
    return lambda *arguments: run[call](STEPS, arguments)


vocabulary = entry("vocabulary")
encoded = entry("encoded")
batch = entry("batch")
batches = entry("batches")
loss = entry("loss")
loss_gradient = entry("loss_gradient")
logits = entry("logits")
training = entry("training")
fit = entry("fit")
predictions = entry("predictions")
