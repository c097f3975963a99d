"""mlm_encoder_loss: its facts by other means, right variants pass, wrong ones lose their clause."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grader.authoring.adequacy import Suite, Trial
from grader.exercise import pack as packs
from grader.exercise.build import build_pack
from grader.exercise.reference import load_module
from grader.exercise.source import ExerciseSource, load

ROOT = Path(__file__).resolve().parents[2]
NAME = "mlm_encoder_loss"
RIGHT = (ROOT / "submissions" / NAME / "right_vectorized.py").read_text("utf-8")
TORCH = (ROOT / "submissions" / NAME / "right_torch.py").read_text("utf-8")
LOOPS = (ROOT / "submissions" / NAME / "right_loops.py").read_text("utf-8")
FLOAT32 = (ROOT / "submissions" / NAME / "right_float32.py").read_text("utf-8")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The cases without the known mistakes, whose fingerprints take long to make."""
    root = tmp_path_factory.mktemp("root")
    for part in ("cases", "reference"):
        leave = shutil.ignore_patterns("misconceptions", "__pycache__")
        shutil.copytree(ROOT / part / NAME, root / part / NAME, ignore=leave)
    source: ExerciseSource = load(root / "cases" / NAME)
    assert source.frozen is not None
    frozen = replace(source.frozen, counterexamples={}, ladder=[])
    return Suite(packs.loads(build_pack(source, frozen, remember=False)), seconds=60)


@pytest.fixture(scope="module")
def model() -> ModuleType:
    return load_module(ROOT / "reference" / NAME, "model")


def module(source: str) -> ModuleType:
    made = ModuleType("submission")
    exec(compile(source, "submission.py", "exec"), made.__dict__)
    return made


def trial(suite: Suite, source: str) -> Trial:
    """A source as it would be used: through the driver where there is one."""
    submission, driver = module(source), module(suite.pack.exercise.driver)
    entries: dict[str, Callable[..., Any]] = {
        name: getattr(submission, name) for name in ("encode_batch", "masked_loss", "evaluate")
    }
    entries["encode_batch"] = partial(driver.encode_batch, submission)
    return suite.trial("submission", entries)


def changed(source: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in source, old
        source = source.replace(old, new)
    return source


# --- facts of the statement ---------------------------------------------------------------------


def small_weights(layers: int, width: int = 2, vocabulary: int = 3, value: float = 0.0) -> dict[str, Any]:
    square = np.full((layers, width, width), value)
    return {
        "token_embed": np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
        "pos_embed": np.array([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]]),
        "w_q": square,
        "w_k": square.copy(),
        "w_v": square.copy(),
        "w_o": square.copy(),
        "w_in": np.full((layers, 4 * width, width), value),
        "w_out": np.full((layers, width, 4 * width), value),
        "head": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    }


def test_the_example_of_the_statement(model: ModuleType) -> None:
    weights, ids, valid = small_weights(0), np.array([[0, 1]]), np.array([[True, True]])
    assert model.encode_batch(ids, valid, weights, 1).tolist() == [[[1, 1], [1, 2]]]
    loss = model.masked_loss(ids, valid, weights, 1, np.array([1]), np.array([0]))
    assert loss == pytest.approx(math.log(math.e + math.e**2 + math.e**3) - 1)
    assert round(loss, 4) == 2.4076
    figures = model.evaluate(np.array([2.0, 30.0, 4.5]), np.array([1, 20, 9]))
    assert figures["tokens"] == 30
    assert (round(figures["loss"], 4), round(figures["perplexity"], 3)) == (1.2167, 3.376)


def test_a_layer_of_zeros_normalizes_twice(model: ModuleType) -> None:
    weights = small_weights(1) | {"token_embed": np.array([[3.0, 1.0]] * 3), "pos_embed": np.zeros((2, 2))}
    hidden = model.encode_batch(np.array([[0, 1]]), np.array([[True, True]]), weights, 1)
    assert np.allclose(hidden, [[[1, -1], [1, -1]]], atol=1e-4)


@pytest.mark.parametrize("size", [2, 4, 50])
def test_even_chances_have_the_perplexity_of_their_number(model: ModuleType, size: int) -> None:
    weights = small_weights(0) | {"head": np.zeros((size, 2))}
    args = (np.array([[0, 1, 2]]), np.ones((1, 3), bool), weights, 1)
    loss = model.masked_loss(*args, np.array([0, 2]), np.array([0, 1]))
    assert loss == pytest.approx(math.log(size))
    assert model.evaluate(np.array([7 * loss, loss]), np.array([7, 1]))["perplexity"] == pytest.approx(size)


def drawn(seed: int, layers: int = 2) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    n, t, width, vocabulary = 3, 4, 6, 7
    weights = {
        "token_embed": rng.normal(size=(vocabulary, width)),
        "pos_embed": rng.normal(size=(t + 2, width)),
        "w_in": rng.normal(size=(layers, 4 * width, width)) / 3,
        "w_out": rng.normal(size=(layers, width, 4 * width)) / 3,
        "head": rng.normal(size=(vocabulary, width)),
    } | {name: rng.normal(size=(layers, width, width)) / 2 for name in ("w_q", "w_k", "w_v", "w_o")}
    valid = rng.random((n, t)) < 0.7
    valid[:, 0] = True
    return rng.integers(0, vocabulary, (n, t)), valid, weights, 2


def by_torch(ids: Any, valid: Any, weights: Mapping[str, Any], heads: int) -> Any:
    """torch's own post-normalized encoder layer, which knows the tanh form of GELU as a function."""
    torch = pytest.importorskip("torch")
    width = weights["head"].shape[1]
    hidden = torch.tensor(weights["token_embed"][ids] + weights["pos_embed"][: ids.shape[1]])
    for layer in range(len(weights["w_q"])):
        one = torch.nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            dropout=0.0,
            activation=partial(torch.nn.functional.gelu, approximate="tanh"),
            batch_first=True,
            bias=False,
            dtype=torch.float64,
        )
        w = {name: torch.tensor(stack[layer]) for name, stack in weights.items() if name.startswith("w_")}
        with torch.no_grad():
            one.self_attn.in_proj_weight.copy_(torch.cat([w["w_q"], w["w_k"], w["w_v"]]))
            one.self_attn.out_proj.weight.copy_(w["w_o"])
            one.linear1.weight.copy_(w["w_in"])
            one.linear2.weight.copy_(w["w_out"])
            # In training mode, so that the layer does what its parts do, one after the other.
            hidden = one(hidden, src_key_padding_mask=~torch.tensor(valid))
    return hidden.numpy()


@pytest.mark.parametrize("seed", range(5))
def test_the_encoder_is_that_of_torch(model: ModuleType, seed: int) -> None:
    arguments = drawn(seed)
    hidden, valid = model.encode_batch(*arguments), arguments[1]
    assert np.allclose(hidden[valid], by_torch(*arguments)[valid], atol=1e-10)
    assert not hidden[~valid].any()


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_that_of_torch(model: ModuleType, seed: int) -> None:
    torch = pytest.importorskip("torch")
    arguments = drawn(seed)
    places = np.flatnonzero(arguments[1])[::-2].copy()
    targets = np.random.default_rng(seed).integers(0, 7, places.size)
    rows = by_torch(*arguments).reshape(-1, 6)[places]
    wanted = torch.nn.functional.cross_entropy(
        torch.tensor(rows @ arguments[2]["head"].T), torch.tensor(targets)
    )
    assert model.masked_loss(*arguments, places, targets) == pytest.approx(float(wanted))


def test_the_large_case_cannot_be_done_at_every_position(suite: Suite) -> None:
    """1.6 GB in the narrowest float that counts, against the limit; and its arrays stay small."""
    case = next(c for c in suite.pack.cases if c.id == "large_vocabulary")
    everything = case.dims["N"] * case.dims["T"] * case.dims["V"] * np.dtype("float32").itemsize
    assert everything > 1.4 * int(suite.pack.exercise.limits["memory"])
    assert len(suite.pack.data) < 10 << 20


# --- right in other ways ------------------------------------------------------------------------

BLOCK = "    block = np.where(valid[:, None, None, :], 0.0, -1e30)\n"
SCORES = "        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // num_heads) + block\n"
LOSS = "    return float(np.mean(log_z - logits[np.arange(targets.size), targets]))\n"
FIGURES = 'return {"loss": loss, "perplexity": float(np.exp(loss)), "tokens": tokens}'
ROWS = "    rows = hidden.reshape(-1, hidden.shape[-1])[flat_positions]\n"
EXPONENTIALS = "        e = np.exp(s - s.max(-1, keepdims=True))\n"
LAST_STATE = "    return x\n\n\ndef masked_loss"

RIGHT_VARIANTS = {
    "as it is": RIGHT,
    "loops": LOOPS,
    "torch": TORCH,
    "float32": FLOAT32,
    "torch with a graph": changed(
        TORCH, ("torch.tensor(a) for name, a in", "torch.tensor(a, requires_grad=True) for name, a in")
    ),
    "a mask of -1e9": changed(RIGHT, ("-1e30", "-1e9")),
    "scores replaced": changed(
        RIGHT, (SCORES, SCORES.replace(" + block", "")[:-1] + "\n        s = np.where(block < 0, -1e30, s)\n")
    ),
    "exponentials taken away": changed(
        RIGHT,
        (SCORES, SCORES.replace(" + block", "")),
        (EXPONENTIALS, EXPONENTIALS[:-1] + " * valid[:, None, None, :]\n"),
        ("e / e.sum(-1, keepdims=True)", "e / np.maximum(e.sum(-1, keepdims=True), 1e-300)"),
        ("s.max(-1, keepdims=True)", "np.where(valid[:, None, None, :], s, -1e30).max(-1, keepdims=True)"),
        ("e = np.exp(s -", "e = np.exp(np.where(valid[:, None, None, :], s, -1e30) -"),
    ),
    "queries masked as well": changed(
        RIGHT, (LAST_STATE, "    return x * valid[:, :, None]\n\n\ndef masked_loss")
    ),
    "padding in a row of ones": changed(
        RIGHT, (LAST_STATE, "    return np.where(valid[:, :, None], x, 1.0)\n\n\ndef masked_loss")
    ),
    "answer rounded to float32": changed(
        RIGHT, (LAST_STATE, "    return x.astype(np.float32)\n\n\ndef masked_loss")
    ),
    "bytes in the other order": changed(
        RIGHT, (LAST_STATE, "    return x.astype(x.dtype.newbyteorder('>'))\n\n\ndef masked_loss")
    ),
    "unravelled places": changed(
        RIGHT, (ROWS, "    rows = hidden[np.unravel_index(flat_positions, token_ids.shape)]\n")
    ),
    "one place after the other": changed(
        RIGHT,
        (LOSS, "    return sum(z - row[y] for z, row, y in zip(log_z, logits, targets)) / len(targets)\n"),
    ),
    "chosen by a sum": changed(
        RIGHT,
        (
            LOSS,
            (
                "    hot = np.arange(logits.shape[1]) == targets[:, None]\n"
                "    return np.mean(log_z - np.sum(logits * hot, 1))\n"
            ),
        ),
    ),
    "log probabilities": changed(
        RIGHT,
        (LOSS, "    logp = logits - log_z[:, None]\n    return -logp[range(len(targets)), targets].mean()\n"),
    ),
    "an exception of its own": changed(
        RIGHT,
        ('ValueError("nothing', 'Empty("nothing'),
        ("import numpy as np\n", "import numpy as np\n\n\nclass Empty(ValueError):\n    pass\n"),
    ),
    "figures of numpy": changed(
        RIGHT,
        ("int(token_counts.sum())", "token_counts.sum()"),
        ("float(np.exp(loss))", "np.exp(loss)"),
        ("float(loss_sums.sum() / tokens)", "loss_sums.sum() / tokens"),
    ),
    "perplexity by a power": changed(RIGHT, ("float(np.exp(loss))", "np.e**loss")),
    "more than is needed, example by example": changed(
        RIGHT,
        (
            ROWS + '    logits = rows @ weights["head"].T\n',
            (
                "    t, h = token_ids.shape[1], weights['head'].T\n"
                "    logits = np.stack([(hidden[i // t] @ h)[i % t] for i in flat_positions])\n"
            ),
        ),
    ),
    "normalized by np.std": changed(
        RIGHT, ("np.sqrt(x.var(-1, keepdims=True) + 1e-5)", "np.sqrt(x.std(-1, keepdims=True) ** 2 + 1e-5)")
    ),
}


@pytest.mark.parametrize("name", RIGHT_VARIANTS)
def test_a_right_variant_gets_full_marks(suite: Suite, name: str) -> None:
    found = trial(suite, RIGHT_VARIANTS[name])
    assert found.killed == ()
    assert found.score == suite.pack.max_score


# --- wrong in other ways ------------------------------------------------------------------------

NORM = "(x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)"
WRONG_VARIANTS = {
    "embedding": changed(RIGHT, ("token_ids] +", "token_ids] * 2 +")),
    "positions": changed(RIGHT, ('weights["pos_embed"][:t]', 'weights["pos_embed"][-t:]')),
    "projections": changed(RIGHT, ('weights["w_o"][layer].T', 'weights["w_o"][layer]')),
    "heads": changed(
        RIGHT,
        (
            "a.reshape(n, t, num_heads, d // num_heads).transpose(0, 2, 1, 3)",
            "a.reshape(n, num_heads, t, d // num_heads)",
        ),
    ),
    "scores": changed(RIGHT, ("np.sqrt(d // num_heads)", "np.sqrt(d)")),
    "softmax": changed(RIGHT, ("p = e / e.sum(-1,", "p = e / e.sum(-2,")),
    "padding": changed(RIGHT, ("valid[:, None, None, :], 0.0", "valid[:1, None, None, :], 0.0")),
    "padding, by length": changed(
        RIGHT, (BLOCK, BLOCK.replace("valid[:,", "(np.arange(t) < valid.sum(1)[:, None])[:,"))
    ),
    "padding, by a score": changed(
        RIGHT,
        (SCORES, SCORES.replace(" + block", "")[:-1] + "\n        s = np.where(block < 0, -100.0, s)\n"),
    ),
    "range, scores clipped": changed(
        RIGHT, (EXPONENTIALS, "        e = np.exp(np.maximum(np.clip(s, -500, 500), -700 + block))\n")
    ),
    "padding, weakly": changed(RIGHT, ("-1e30", "-50.0")),
    "all_padding": changed(RIGHT, ("-1e30", "-np.inf")),
    "context": changed(RIGHT, (BLOCK, BLOCK[:-1] + " + np.triu(np.full((t, t), -1e30), 1)\n")),
    "post_norm": changed(RIGHT, ("x = layer_norm(x + merged", "x = layer_norm(merged")),
    "layer_norm": changed(RIGHT, ("x.var(-1, keepdims", "x.var(-1, ddof=1, keepdims")),
    "layer_norm, of the whole batch": changed(
        RIGHT, ("x.mean(-1, keepdims=True)", "x.mean(keepdims=True)"), ("x.var(-1, ", "x.var(")
    ),
    "epsilon": changed(RIGHT, ("+ 1e-5", "+ 1e-6")),
    "epsilon, outside": changed(RIGHT, (NORM, "(x - mean) / (x.std(-1, keepdims=True) + 1e-5)")),
    "feed_forward": changed(RIGHT, ('weights["w_in"][layer].T', 'weights["w_in"][layer].reshape(d, -1)')),
    "gelu": changed(RIGHT, ("0.044715", "0.04")),
    "layers": changed(RIGHT, ('range(len(weights["w_q"]))', 'range(min(1, len(weights["w_q"])))')),
    "flat_positions": changed(RIGHT, (ROWS, ROWS.replace("[flat_positions]", "[np.sort(flat_positions)]"))),
    "cross_entropy": changed(RIGHT, ('weights["head"].T', 'weights["token_embed"].T')),
    "cross_entropy, in bits": changed(RIGHT, ("np.log(np.exp(logits)", "np.log2(np.exp(logits)")),
    "range": changed(RIGHT, ("    logits -= logits.max(axis=-1, keepdims=True)\n", "")),
    "range, clipped": changed(
        RIGHT,
        (
            LOSS,
            (
                "    p = np.exp(logits[np.arange(targets.size), targets] - log_z)\n"
                "    return -np.log(np.clip(p, 1e-9, 1)).mean()\n"
            ),
        ),
    ),
    "selected_mean": changed(RIGHT, ("float(np.mean(log_z", "float(np.sum(log_z")),
    "head_memory": changed(
        RIGHT,
        (ROWS, ""),
        (
            'rows @ weights["head"].T',
            '(hidden @ weights["head"].T).reshape(-1, len(weights["head"]))[flat_positions]',
        ),
    ),
    "refusals": changed(RIGHT, ('raise ValueError("nothing is selected")', "return float('nan')")),
    "refusals, by another class": changed(RIGHT, ('raise ValueError("padding', 'raise KeyError("padding')),
    "refusals, an evaluation of nothing": changed(RIGHT, ('raise ValueError("no tokens")', "tokens = 1")),
    "batches": changed(RIGHT, ("float(loss_sums.sum() / tokens)", "float(loss_sums.mean())")),
    "batches, tokens": changed(RIGHT, ('"tokens": tokens', '"tokens": len(token_counts)')),
    "perplexity": changed(RIGHT, ("np.exp(loss))", "2**loss)")),
    "inputs": changed(
        RIGHT, ("    n, t = token_ids.shape\n", "    n, t = token_ids.shape\n    token_ids[~valid] = 0\n")
    ),
    "inputs, sums": changed(
        RIGHT, ("loss = float(loss_sums.sum() / tokens)", "loss_sums /= tokens\n    loss = loss_sums.sum()")
    ),
    "repeatable": changed(
        RIGHT,
        ("def gelu", "KEPT = {}\n\n\ndef gelu"),
        (
            LAST_STATE,
            (
                "    out = KEPT.setdefault((x.shape, x.dtype), np.empty_like(x))\n"
                "    out[...] = x\n    return out\n\n\ndef masked_loss"
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG_VARIANTS)
def test_a_wrong_variant_loses_its_clause(suite: Suite, name: str) -> None:
    found = trial(suite, WRONG_VARIANTS[name])
    failed = {case.clause for case in suite.pack.cases if case.id in found.killed}
    assert name.partition(",")[0] in failed
    assert found.score < suite.pack.max_score


def test_what_does_not_fit_into_memory_is_told_as_that(suite: Suite) -> None:
    found = trial(suite, WRONG_VARIANTS["head_memory"])
    assert found.killed == ("large_vocabulary",)
    assert [v for v in found.verdicts if v != "passed"] == ["out_of_memory"]


def test_the_statement_names_every_clause(suite: Suite) -> None:
    text = (ROOT / "cases" / NAME / "statement.md").read_text("utf-8")
    assert [name for name in suite.pack.exercise.clauses if f"\n### {name}\n" not in text] == []
