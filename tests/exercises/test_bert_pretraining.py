"""bert_pretraining: facts of its statement, right answers in other forms, wrong ones with their clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grader
from grader.authoring.demo import demonstration_of
from grader.exercise.reference import load_module
from grader.exercise.source import load

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
NAME = "bert_pretraining"
BASE = (ROOT / "submissions" / NAME / "right_modules.py").read_text("utf-8")
LOOPS = (ROOT / "submissions" / NAME / "right_loops.py").read_text("utf-8")

ATTEND = "torch.softmax(q @ k.transpose(2, 3) / 4**0.5, dim=-1)"
LOGITS = "self.mlm_decoder(self.mlm_norm(F.gelu(self.mlm_transform(hidden))))"
LABELS = """    labels = torch.full_like(original, -100)
    labels[:, positions] = original[:, positions]
    return F.cross_entropy(logits.transpose(1, 2), labels)
"""
PACK = "torch.cat([words.reshape(len(tokens), 96), pair], dim=1)"
SUM = """self.word_embeddings(tokens)
            + self.position_embeddings(places)
            + self.segment_embeddings(segments)"""
TIE = "        self.mlm_decoder.weight = self.word_embeddings.weight\n"
BLOCK = """        x = self.attention_norm(x + self.attention(x))
        return self.output_norm(x + self.down(F.gelu(self.up(x))))
"""

Change = tuple[str, str]


def changed(*changes: Change, of: str = BASE) -> str:
    for old, new in changes:
        assert old in of, old
        of = of.replace(old, new)
    return of


RIGHT: dict[str, str] = {
    "scores are scaled before the product": changed((ATTEND, "torch.softmax((q / 2) @ (k.mT), dim=-1)")),
    "a softmax by hand": changed(
        (
            ATTEND,
            "softmax(q @ k.mT / 2)",
        ),
        (
            "class Attention",
            """def softmax(scores):
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


class Attention""",
        ),
    ),
    "einsum": changed((ATTEND, "torch.einsum('nhqd,nhkd->nhqk', q, k).div(2).softmax(3)")),
    "layer_norm as a function": changed(
        (
            "self.encoder(self.embedding_norm(x))",
            "self.encoder(F.layer_norm(x, (8,), self.embedding_norm.weight, self.embedding_norm.bias))",
        )
    ),
    "the embeddings tied to the decoder": changed(
        (TIE, "        self.word_embeddings.weight = self.mlm_decoder.weight\n")
    ),
    "tied at each call": changed(
        (TIE, "        del self.mlm_decoder.weight\n"),
        (
            LOGITS,
            (
                "F.linear(self.mlm_norm(F.gelu(self.mlm_transform(hidden))), self.word_embeddings.weight, "
                "self.mlm_decoder.bias)"
            ),
        ),
    ),
    "a buffer for positions": changed(
        (TIE, TIE + "        self.register_buffer('places', torch.arange(6))\n"),
        ("self.position_embeddings(places)", "self.position_embeddings(self.places)"),
    ),
    "a dropout that knows evaluation mode": changed(
        (
            "self.encoder(self.embedding_norm(x))",
            "self.encoder(F.dropout(self.embedding_norm(x), 0.1, self.training))",
        )
    ),
    "other initial values": changed((TIE, TIE + "        nn.init.zeros_(self.word_embeddings.weight)\n")),
    "embeddings of float64 from the start": changed(
        ("nn.Embedding(16, 8)", "nn.Embedding(16, 8, dtype=torch.float64)")
    ),
    "gelu by erf": changed(
        ("F.gelu(self.up(x))", "(lambda u: u / 2 * (1 + torch.erf(u / 2**0.5)))(self.up(x))")
    ),
    "the loss of picked rows": changed(
        (
            LABELS,
            (
                "    rows = logits[:, positions].flatten(0, 1)\n"
                "    return F.cross_entropy(rows, original[:, positions].flatten())\n"
            ),
        )
    ),
    "the loss by a mask": changed(
        (
            LABELS,
            """    selected = torch.zeros(original.shape, dtype=logits.dtype)
    selected[:, positions] = 1
    losses = F.cross_entropy(logits.flatten(0, 1), original.flatten(), reduction="none")
    return (losses * selected.flatten()).sum() / selected.sum()
""",
        )
    ),
    "nll of log_softmax": changed(
        (
            "F.cross_entropy(logits.transpose(1, 2), labels)",
            "F.nll_loss(F.log_softmax(logits, -1).flatten(0, 1), labels.flatten(), ignore_index=-100)",
        )
    ),
    "a loss of shape (1,)": changed((", labels)\n", ", labels).reshape(1)\n")),
    "a dataclass on the way": "from dataclasses import dataclass\n"
    + changed(
        (
            "class TinyBert",
            "@dataclass\nclass Logits:\n    words: object\n    pair: object\n\n\nclass TinyBert",
        ),
        (
            f"return {PACK}",
            "out = Logits(words, pair)\n        return torch.cat([out.words.flatten(1), out.pair], 1)",
        ),
    ),
    "packed in place": changed(
        (
            f"return {PACK}",
            (
                "out = x.new_zeros(len(tokens), 98)\n"
                "        out[:, :96] = words.flatten(1)\n        out[:, 96:] = pair\n        return out"
            ),
        )
    ),
}

WRONG: dict[str, tuple[str, str]] = {
    "a model that counts its calls": (
        "repeatable",
        changed(
            (TIE, TIE + "        self.calls = 0\n"),
            (
                "        return torch.cat",
                "        self.calls += 1\n        return (self.calls > 1) * 0.01 + torch.cat",
            ),
        ),
    ),
    "a model that keeps its first answer": (
        "repeatable",
        changed(
            (TIE, TIE + "        self.kept = {}\n"),
            (f"return {PACK}", f"return self.kept.setdefault(len(tokens), {PACK})"),
        ),
    ),
    "no positions": (
        "embeddings",
        changed((SUM, "self.word_embeddings(tokens) + self.segment_embeddings(segments)")),
    ),
    "no segments": (
        "embeddings",
        changed((SUM, "self.word_embeddings(tokens) + self.position_embeddings(places)")),
    ),
    "no embedding norm": (
        "embedding_norm",
        changed(("self.encoder(self.embedding_norm(x))", "self.encoder(x)")),
    ),
    "another epsilon": ("epsilon", changed(("nn.LayerNorm(8)", "nn.LayerNorm(8, eps=1e-6)"))),
    "a sample's variance": (
        "layer_norm",
        changed(
            (
                "self.encoder(self.embedding_norm(x))",
                (
                    "self.encoder((x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()"
                    " * self.embedding_norm.weight + self.embedding_norm.bias)"
                ),
            )
        ),
    ),
    "scores over 8": ("scores", changed(("/ 4**0.5", "/ 8**0.5"))),
    "softmax over queries": ("softmax", changed((ATTEND, ATTEND.replace("dim=-1", "dim=-2")))),
    "three's key hidden": (
        "bidirectional",
        changed(
            (
                "self.encoder(self.embedding_norm(x))",
                "self.encoder(self.embedding_norm(x), (tokens == 3)[:, None, None])",
            ),
            (
                "    def forward(self, x):\n        n = len(x)",
                "    def forward(self, x, hidden):\n        n = len(x)",
            ),
            ("    def forward(self, x):\n        x = ", "    def forward(self, x, hidden):\n        x = "),
            ("self.attention(x)", "self.attention(x, hidden)"),
            (ATTEND, "torch.softmax((q @ k.mT / 2).masked_fill(hidden, -1e9), dim=-1)"),
        ),
    ),
    "an anti-causal mask": (
        "bidirectional",
        changed(
            (ATTEND, "torch.softmax((q @ k.mT / 2).masked_fill(torch.ones(6, 6).tril(-1).bool(), -1e9), -1)")
        ),
    ),
    "no residual": ("attention_residual", changed(("x + self.attention(x)", "self.attention(x)"))),
    "relu": ("gelu", changed(("F.gelu", "F.relu"))),
    "silu": ("gelu", changed(("F.gelu(self.up(x))", "F.silu(self.up(x))"))),
    "no second residual": ("output_residual", changed(("x + self.down(", "self.down("))),
    "no transform": ("mlm_transform", changed((LOGITS, "self.mlm_decoder(hidden)"))),
    "gelu after the norm": (
        "mlm_transform",
        changed((LOGITS, "self.mlm_decoder(F.gelu(self.mlm_norm(self.mlm_transform(hidden))))")),
    ),
    "untied": ("tied_decoder", changed((TIE, ""))),
    "tied to detached embeddings": (
        "tied_decoder",
        changed(
            (
                LOGITS,
                (
                    "F.linear(self.mlm_norm(F.gelu(self.mlm_transform(hidden))), "
                    "self.word_embeddings.weight.detach(), self.mlm_decoder.bias)"
                ),
            )
        ),
    ),
    "no decoder bias": (
        "decoder_bias",
        changed(
            (LOGITS, "self.mlm_norm(F.gelu(self.mlm_transform(hidden))) @ self.word_embeddings.weight.T")
        ),
    ),
    "detached positions": (
        "learning",
        changed(("self.position_embeddings(places)", "self.position_embeddings(places).detach()")),
    ),
    "a detached weight of a normalization": (
        "learning",
        changed(
            (
                "self.encoder(self.embedding_norm(x))",
                (
                    "self.encoder(F.layer_norm(x, (8,), self.embedding_norm.weight.detach(), "
                    "self.embedding_norm.bias))"
                ),
            )
        ),
    ),
    "a detached bias of the decoder": (
        "learning",
        changed((LOGITS, LOGITS + " - self.mlm_decoder.bias + self.mlm_decoder.bias.detach()")),
    ),
    "a padding row without a gradient": (
        "learning",
        changed(("nn.Embedding(16, 8)", "nn.Embedding(16, 8, padding_idx=0)")),
    ),
    "no tanh": ("pooler", changed(("torch.tanh(self.pooler(hidden[:, 0]))", "self.pooler(hidden[:, 0])"))),
    "relu in the pooler": ("pooler", changed(("torch.tanh(", "torch.relu("))),
    "pair probabilities": ("pair_logits", changed((PACK, PACK.replace("pair]", "pair.softmax(-1)]")))),
    "one pair logit": ("parameters", changed(("nn.Linear(8, 2)", "nn.Linear(8, 1)"))),
    "packed by token": ("packing", changed((PACK, PACK.replace("words.", "words.transpose(1, 2).")))),
    "the batch flattened": ("packing", changed((f"return {PACK}", f"return {PACK}.flatten()"))),
    "attention over the batch": (
        "examples",
        changed(
            ("self.encoder(self.embedding_norm(x))", "self.encoder(self.embedding_norm(x - x.mean(0) * 0.1))")
        ),
    ),
    "only the first example's labels": (
        "loss_selection",
        changed(
            ("labels[:, positions] = original[:, positions]", "labels[0, positions] = original[0, positions]")
        ),
    ),
    "bits": ("loss_value", changed((", labels)\n", ", labels) / 0.6931471805599453\n"))),
    "a sum": ("loss_value", changed((", labels)\n", ', labels, reduction="sum")\n'))),
    "clipped probabilities": (
        "loss_range",
        changed(
            (
                LABELS,
                """    p = logits.softmax(-1)[:, positions].gather(-1, original[:, positions].unsqueeze(-1))
    return -p.clamp(min=1e-9).log().mean()
""",
            )
        ),
    ),
    "a loss for each example": (
        "loss_value",
        changed((", labels)\n", ', labels, reduction="none").sum(1) / len(positions)\n')),
    ),
    "a detached loss": ("learning", changed((", labels)\n", ", labels).detach()\n"))),
    "sorted in place": ("inputs", changed((LABELS, "    positions.sort()\n" + LABELS))),
}


@pytest.fixture(scope="module", autouse=True)
def class_of_variants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The results of all variants, graded as one class."""
    folder = tmp_path_factory.mktemp("variants")
    named = {f"right_{n}": text for n, text in enumerate(RIGHT.values())}
    named |= {f"wrong_{n}": text for n, (_, text) in enumerate(WRONG.values())}
    for name, text in named.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    graded = grader.grade(folder, exercise=NAME, root=ROOT, pages=False)
    yield {result.submission.id: result for result in graded}


@pytest.mark.parametrize("number", range(len(RIGHT)), ids=list(RIGHT))
def test_a_right_variant_gets_full_marks(class_of_variants: dict[str, Any], number: int) -> None:
    result = class_of_variants[f"right_{number}"]
    lost = [(case.id, case.verdict, case.message) for case in result.cases if case.verdict != "passed"]
    assert (result.status, lost) == ("passed", [])
    assert result.score == result.max_score


@pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
def test_a_wrong_variant_loses_in_its_clause(class_of_variants: dict[str, Any], number: int) -> None:
    result = class_of_variants[f"wrong_{number}"]
    clause, _ = list(WRONG.values())[number]
    assert result.status == "failed" and result.score < result.max_score
    lost = {case.clause for case in result.cases if case.verdict not in ("passed", "skipped")}
    assert clause in lost


def test_there_are_enough_variants() -> None:
    assert len(RIGHT) >= 12 and len(WRONG) >= 20


@pytest.fixture(scope="module")
def model() -> Any:
    return load_module(ROOT / "reference" / NAME, "model")


def test_the_table_of_the_statement_is_that_of_the_reference_and_the_driver(model: Any) -> None:
    text = (ROOT / "cases" / NAME / "statement.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| `\(([\d, ]+)\)` \| `(\w+)` \|$", text, re.M)
    shapes = {name: [int(size) for size in sizes.split(",") if size.strip()] for name, sizes, _ in rows}
    assert shapes == model.SHAPES
    space: dict[str, Any] = {}
    exec((ROOT / "cases" / NAME / "driver.py").read_text("utf-8"), space)
    assert {short: name for name, _, short in rows} == space["PARAMETERS"]
    assert f"# {sum(int(np.prod(shape)) for shape in shapes.values())}" in text


def test_equal_logits_have_the_loss_of_an_even_guess(model: Any) -> None:
    loss = model.masked_loss(np.zeros((1, 6, 16)), [2], np.array([[1, 4, 5, 2, 6, 2]]))
    assert loss == pytest.approx(np.log(16), abs=1e-12)


def test_gradients_are_those_of_autograd(model: Any) -> None:
    demo = load_module(ROOT / "reference" / NAME, "demo")
    crosscheck = load_module(ROOT / "reference" / NAME, "crosscheck")
    rng = np.random.default_rng(4)
    call = (
        demo.weights(),
        rng.integers(0, 16, (2, 6)),
        rng.integers(0, 2, (2, 6)),
        rng.normal(size=(2, 98)),
        [0, 3, 15],
    )
    ours, theirs = model.gradients(*call), crosscheck.gradients(*call)
    for part in ("words", "query_bias"):
        np.testing.assert_allclose(ours[part], theirs[part], rtol=0, atol=1e-7)
    assert len(ours["slopes"]) == 30
    assert ours["slopes"] == pytest.approx(theirs["slopes"], abs=1e-7)


def test_the_demonstration_has_the_recorded_numbers() -> None:
    shown = demonstration_of(load(ROOT / "cases" / NAME))
    figures = [[metric.value for metric in example.metrics] for example in shown.examples]
    assert [example.id for example in shown.examples] == [
        "first_segment",
        "second_segment",
        "both_segments",
        "not_next",
    ]
    for tokens, pair, both in figures:
        assert both == pytest.approx(tokens + pair, abs=1e-12)
    assert figures[0][0] == figures[3][0] and figures[0][1] != figures[3][1]
    if torch.__version__.startswith("2.13"):
        assert figures[0] == pytest.approx(
            [2.80195269528544, 0.7524517459332909, 3.554404441218731], abs=1e-9
        )
        assert figures[2] == pytest.approx(
            [3.718223183037352, 0.7476152004343455, 4.465838383471698], abs=1e-9
        )
    for example in shown.examples:
        np.testing.assert_allclose(np.sum(example.matrices[0].values, axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.sum(example.vectors[3].values), 1, rtol=0, atol=1e-12)
