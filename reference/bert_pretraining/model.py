"""The numpy reference of ``bert_pretraining``: the steps put together, a function for each call.

Gradients are central differences in float64, taken at all the weights at once: so a step that is replaced
by a wrong one has the gradient that goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .steps import LENGTH, VOCABULARY, Array, Steps

STEPS = Steps()
# What it leaves out, and rounding divided by it, are both near 1e-9 of the largest gradient.
STEP = 1e-5
SHAPES: dict[str, list[int]] = {
    "word_embeddings.weight": [16, 8],
    "position_embeddings.weight": [6, 8],
    "segment_embeddings.weight": [2, 8],
    "embedding_norm.weight": [8],
    "embedding_norm.bias": [8],
    "encoder.attention.query.weight": [8, 8],
    "encoder.attention.query.bias": [8],
    "encoder.attention.key.weight": [8, 8],
    "encoder.attention.key.bias": [8],
    "encoder.attention.value.weight": [8, 8],
    "encoder.attention.value.bias": [8],
    "encoder.attention.project.weight": [8, 8],
    "encoder.attention.project.bias": [8],
    "encoder.attention_norm.weight": [8],
    "encoder.attention_norm.bias": [8],
    "encoder.up.weight": [32, 8],
    "encoder.up.bias": [32],
    "encoder.down.weight": [8, 32],
    "encoder.down.bias": [8],
    "encoder.output_norm.weight": [8],
    "encoder.output_norm.bias": [8],
    "mlm_transform.weight": [8, 8],
    "mlm_transform.bias": [8],
    "mlm_norm.weight": [8],
    "mlm_norm.bias": [8],
    "mlm_decoder.bias": [16],
    "pooler.weight": [8, 8],
    "pooler.bias": [8],
    "nsp_head.weight": [2, 8],
    "nsp_head.bias": [2],
}


@dataclass(frozen=True)
class Layers:
    """The weights of a call, and the layers that are made of them."""

    steps: Steps
    weights: Mapping[str, Array]

    def linear(self, name: str) -> Any:
        """(N, T, in) to (N, T, out) by the weights of this name."""
        weight, bias = self.weights[f"{name}_weight"], self.weights[f"{name}_bias"]
        return partial(self.steps.linear, weight=weight, bias=bias)

    def norm(self, name: str) -> Any:
        """(N, T, 8), normalized by the weights of this name."""
        weight, bias = self.weights[f"{name}_norm_weight"], self.weights[f"{name}_norm_bias"]

        def apply(x: Array) -> Array:
            centered = self.steps.center(x)
            z = self.steps.standardize(centered, self.steps.variance(centered))
            normed: Array = self.steps.scale_and_shift(z, weight, bias)
            return normed

        return apply


def encode(layers: Layers, tokens: Array, segments: Array) -> Array:
    """(N, 6, 8): hidden states after the block."""
    steps, w = layers.steps, layers.weights
    x = steps.add_positions(steps.look_up_words(w["word_embeddings"], tokens), w["position_embeddings"])
    x = steps.add_segments(x, w["segment_embeddings"], segments)
    x = steps.norm_embeddings(x, layers.norm("embedding"))
    source = steps.attention_input(x, layers.norm("attention"))
    query, key, value = (steps.split_heads(layers.linear(name)(source)) for name in ("query", "key", "value"))
    scores = steps.hide_keys(steps.scale_scores(steps.dot_products(query, key)), tokens, segments)
    attention = steps.divide_by_sum(np.exp(steps.shift_scores(scores)))
    merged = steps.merge_heads(steps.mix_values(attention, value))
    attended = steps.project_output(merged, layers.linear("project"))
    hidden = steps.norm_attention(steps.add_attention(x, attended), layers.norm("attention"))
    inner = layers.linear("up")(steps.feed_forward_input(hidden, layers.norm("output")))
    fed = layers.linear("down")(steps.activate_inner(inner, steps.gelu))
    out: Array = steps.norm_output(steps.add_feed_forward(hidden, fed), layers.norm("output"))
    return out


def forward(
    steps: Steps,
    weights: Mapping[str, Array],
    tokens: Array,
    segments: Array,
    loaded: Array,
    still: Array | None = None,
) -> Array:
    """(N, 98) packed logits.

    Args:
        loaded: (16, 8) the word embeddings as they were when the weights were loaded.
        still: (16, 8) the word embeddings without the moves that a gradient is taken from; without any when
            left out.
    """
    layers = Layers(steps, weights)
    hidden = encode(layers, tokens, segments)
    x = steps.activate_transform(steps.transform(hidden, layers.linear("transform")), steps.gelu)
    x = steps.norm_transform(x, layers.norm("mlm"))
    words = weights["word_embeddings"]
    decoder = steps.decoder_weight(words, loaded, words if still is None else still)
    token_logits = steps.token_output(
        steps.add_decoder_bias(steps.decode(x, decoder), weights["decoder_bias"])
    )
    pooled = steps.activate_pooler(steps.pooler(steps.pool(hidden), layers.linear("pooler")))
    pair_logits = steps.pair_output(layers.linear("nsp")(pooled))
    packed: Array = steps.pack(token_logits, pair_logits)
    return packed


def _as(weights: Mapping[str, Array], dtype: DTypeLike) -> dict[str, Array]:
    return {name: np.asarray(values, dtype) for name, values in weights.items()}


def run_packed_logits(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 98): what the model's forward gives."""
    weights = _as(arguments[0], dtype)
    return forward(steps, weights, arguments[1], arguments[2], weights["word_embeddings"])


def run_later_logits(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 98): what forward gives after it was called with another text."""
    weights, tokens, segments = arguments
    run_packed_logits(steps, (weights, 15 - tokens, 1 - segments), dtype)
    return run_packed_logits(steps, arguments, dtype)


def run_token_logits(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 6, 16): the first 96 of each row."""
    return run_packed_logits(steps, arguments, dtype)[:, :96].reshape(-1, LENGTH, VOCABULARY)


def run_pair_logits(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 2): the last two of each row."""
    return run_packed_logits(steps, arguments, dtype)[:, 96:]


def run_shifted_embeddings(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 6, 16): token logits after ``shift`` was added to the word embeddings of the loaded model."""
    weights, tokens, segments, shift = arguments
    before = _as(weights, dtype)
    after = before | {"word_embeddings": before["word_embeddings"] + np.asarray(shift, dtype)}
    packed = forward(steps, after, tokens, segments, before["word_embeddings"])
    return packed[:, :96].reshape(-1, LENGTH, VOCABULARY)


def run_gradients(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The gradients of the packed logits times ``coefficients``, added up; float64 whatever the dtype."""
    weights, tokens, segments, coefficients, rows = arguments
    weights = _as(weights, np.float64)
    loaded = weights["word_embeddings"]
    # One step for each element of the rows, and for each of the bias.
    rows = np.asarray(rows)
    word_moves = np.zeros((len(rows), 8, *loaded.shape))
    for at, row in enumerate(rows):
        word_moves[at, :, row] = STEP * np.eye(8)
    gradients = {}
    for part, name, moves in (
        ("words", "word_embeddings", word_moves.reshape(-1, *loaded.shape)),
        ("query_bias", "query_bias", STEP * np.eye(8)[:, None, None, :]),
    ):
        after, before = (
            # Of what is overwritten every run has its own.
            forward(
                steps, weights | {name: weights[name] + side}, tokens.copy(), segments.copy(), loaded, loaded
            )
            for side in (moves, -moves)
        )
        slope = ((after - before) * coefficients).sum(axis=(-2, -1)) / (2 * STEP)
        gradients[part] = steps.signal(slope)
    slopes = steps.signal(_slopes(steps, weights, tokens, segments, coefficients))
    return {
        "words": gradients["words"].reshape(-1, 8),
        "query_bias": gradients["query_bias"],
        "slopes": dict(zip(weights, slopes.tolist(), strict=True)),
    }


def direction(shape: tuple[int, ...]) -> Array:
    """The direction of length 1 along which the slope of a parameter of this shape is taken."""
    waves = np.cos(np.arange(np.prod(shape))).reshape(shape)
    return np.asarray(waves / np.sqrt((waves**2).sum()))


def _slopes(
    steps: Steps, weights: Mapping[str, Array], tokens: Array, segments: Array, coefficients: Array
) -> Array:
    """(30,): how the logits times ``coefficients``, added up, rise along each parameter's direction."""
    sides = []
    for step in (STEP, -STEP):
        moved = {}
        for at, (name, values) in enumerate(weights.items()):
            many = np.repeat(values[None], len(weights), axis=0)
            many[at] += step * direction(values.shape)
            # Rows that are added to (N, 6, width), and vectors, have the axes of what they meet.
            wide = values.ndim == 1 or name == "position_embeddings"
            moved[name] = (
                many.reshape(len(weights), *(1,) * (3 - values.ndim), *values.shape) if wide else many
            )
        loaded = weights["word_embeddings"]
        packed = forward(steps, moved, tokens.copy(), segments.copy(), loaded, loaded)
        sides.append((packed * coefficients).sum(axis=(-2, -1)))
    return np.asarray((sides[0] - sides[1]) / (2 * STEP))


def run_masked_loss(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The mean cross entropy at the selected positions."""
    logits, positions, original = np.asarray(arguments[0], dtype), arguments[1], arguments[2]
    positions = steps.take_positions(positions)
    chosen = steps.select(logits, positions)
    normalizer = steps.log_normalizer(chosen, steps.largest_logit(chosen))
    losses = normalizer - steps.target_logits(chosen, steps.targets(original, positions))
    return float(steps.average(losses, original.size))


def run_loss_gradient(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """(N, 6, 16): the gradient of the loss with respect to the logits; float64 whatever the dtype."""
    logits, positions, original = np.asarray(arguments[0], np.float64), arguments[1], arguments[2]
    gradient = np.empty(logits.size)
    for at in range(logits.size):
        move = np.zeros(logits.shape)
        move.reshape(-1)[at] = STEP
        after, before = (
            run_masked_loss(steps, (moved, positions, original)) for moved in (logits + move, logits - move)
        )
        gradient[at] = (after - before) / (2 * STEP)
    return steps.signal(gradient.reshape(logits.shape))


def run_parameter_shapes(steps: Steps, arguments: tuple[Any, ...], dtype: DTypeLike = np.float64) -> Any:
    """The shape of each parameter by its name, without the tied weight's second name."""
    return steps.name_parameters({name: list(shape) for name, shape in SHAPES.items()})


run = {
    "token_logits": run_token_logits,
    "pair_logits": run_pair_logits,
    "packed_logits": run_packed_logits,
    "later_logits": run_later_logits,
    "shifted_embeddings": run_shifted_embeddings,
    "gradients": run_gradients,
    "masked_loss": run_masked_loss,
    "loss_gradient": run_loss_gradient,
    "parameter_shapes": run_parameter_shapes,
}


def token_logits(*arguments: Any) -> Any:
    """(N, 6, 16), of weights, tokens (N, 6) and segments (N, 6)."""
    return run_token_logits(STEPS, arguments)


def pair_logits(*arguments: Any) -> Any:
    """(N, 2), of weights, tokens (N, 6) and segments (N, 6)."""
    return run_pair_logits(STEPS, arguments)


def packed_logits(*arguments: Any) -> Any:
    """(N, 98), of weights, tokens (N, 6) and segments (N, 6)."""
    return run_packed_logits(STEPS, arguments)


def later_logits(*arguments: Any) -> Any:
    """(N, 98), of weights, tokens (N, 6) and segments (N, 6)."""
    return run_later_logits(STEPS, arguments)


def shifted_embeddings(*arguments: Any) -> Any:
    """(N, 6, 16), of weights, tokens, segments and what is added to the word embeddings (16, 8)."""
    return run_shifted_embeddings(STEPS, arguments)


def gradients(*arguments: Any) -> Any:
    """words (R, 8) and query_bias (8,), of weights, tokens, segments, coefficients (N, 98) and R rows."""
    return run_gradients(STEPS, arguments)


def masked_loss(*arguments: Any) -> Any:
    """A number, of logits (N, 6, 16), P positions and the original tokens (N, 6)."""
    return run_masked_loss(STEPS, arguments)


def loss_gradient(*arguments: Any) -> Any:
    """(N, 6, 16), of logits (N, 6, 16), P positions and the original tokens (N, 6)."""
    return run_loss_gradient(STEPS, arguments)


def parameter_shapes(*arguments: Any) -> Any:
    """Lists of whole numbers by the parameters' names."""
    return run_parameter_shapes(STEPS, arguments)
