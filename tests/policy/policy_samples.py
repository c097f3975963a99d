"""Rules like those of the first exercise, and short ways to ask for a verdict."""

from __future__ import annotations

import textwrap
from typing import Any

from grader.policy.analysis import analyze
from grader.policy.rules import Rules

DATA: dict[str, Any] = {
    "rules": [
        {
            "id": "softmax",
            "title": "Softmax helpers",
            "why": "The exercise is about writing it.",
            "instead": "Write it from its formula: exp(s - max) over its sum.",
            "names": [
                "torch.*[Ss]oft[Mm]ax*",
                "torch.*[Ss]oftmin*",
                "torch.*logsumexp",
                "scipy.special.*softmax",
                "scipy.special.logsumexp",
                "jax.*softmax",
                "jax.*logsumexp",
                "tensorflow.*[Ss]oftmax",
                "keras.*[Ss]oftmax",
            ],
            "methods": ["softmax", "log_softmax", "logsumexp", "softmin"],
        },
        {
            "id": "attention",
            "title": "Attention helpers",
            "why": "The exercise is about writing it.",
            "instead": "Form the scores of each head with matmul.",
            "names": [
                "torch.*scaled_dot_product_attention*",
                "torch.nn.MultiheadAttention",
                "torch.nn.Transformer*",
                "torch.nn.functional.multi_head_attention_forward",
                "transformers.*",
            ],
            "methods": [],
        },
        {
            "id": "normalization",
            "title": "Normalization helpers",
            "why": "The exercise is about writing it.",
            "instead": "Write it with mean and var.",
            "names": [
                "torch.nn.*Norm",
                "torch.nn.*Norm?d",
                "torch.nn.functional.*norm*",
                "torch.*layer_norm",
                "torch.*native_layer_norm*",
            ],
            "methods": [],
        },
        {
            "id": "activation",
            "title": "Activation helpers",
            "why": "The exercise is about writing it.",
            "instead": "Write it from its formula with tanh.",
            "names": [
                "torch.nn.GELU",
                "torch.nn.ReLU",
                "torch.nn.functional.*gelu",
                "torch.nn.functional.*relu*",
                "torch.ops.*gelu*",
                "torch.relu",
                "torch._C._nn.*gelu*",
                "jax.nn.*gelu",
                "tensorflow.nn.gelu",
                "keras.activations.gelu",
            ],
            "methods": ["gelu", "relu", "relu_"],
        },
    ],
    "allowed": [
        "torch.exp",
        "torch.nn.Tanh",
        "torch.nn.functional.tanh",
        "torch.linalg.norm",
        "numpy.*",
        "scipy.special.expit",
    ],
    "array_libraries": ["torch", "jax", "tensorflow"],
}
RULES = Rules.from_dict(DATA)
ENTRY = "mlm_forward"


def report(source: str, entry: str = ENTRY) -> dict[str, Any]:
    """The report on a source, which may be indented as a whole."""
    return analyze(textwrap.dedent(source).lstrip("\n"), RULES, entry)


def places(entries: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(entry["helper"], entry["line"], entry["column"]) for entry in entries]


def helpers(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["helper"] for entry in entries}


MARK = "¤"


def marked(source: str) -> tuple[str, list[tuple[int, int]]]:
    """A source without its marks, and the line and column of each mark."""
    source = textwrap.dedent(source).lstrip("\n")
    found: list[tuple[int, int]] = []
    lines = []
    for number, line in enumerate(source.split("\n"), 1):
        while MARK in line:
            found.append((number, line.index(MARK) + 1))
            line = line.replace(MARK, "", 1)
        lines.append(line)
    return "\n".join(lines), found
