"""The exercise fill_mask: facts of its statement, right ways to solve it, and wrong ones by clause."""

from __future__ import annotations

import itertools
import math
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.authoring.demo import demonstration_of
from grader.batch.asking import asked_of
from grader.batch.runner import Runner
from grader.exercise.cached import cached_pack
from grader.exercise.models import RandomCases
from grader.exercise.reference import load_module
from grader.exercise.source import ExerciseSource, load
from grader.intake.collect import collect
from grader.result import Result

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases" / "fill_mask"
REFERENCE = ROOT / "reference" / "fill_mask"
SOLUTION = (ROOT / "submissions" / "fill_mask" / "right_dataclass.py").read_text("utf-8")

SORTED = 'np.argsort(-logits, kind="stable")[:top_k].tolist()'
HEAD = 'weights["head"] @ (rows[position] + total)'
ROWS = 'weights["token_embed"][token_ids] + weights["pos_embed"][: len(token_ids)]'
CHECKED = "    contract.validate(token_ids)\n"
TOP_K = '    if top_k < 1:\n        raise ValueError(f"top_k must be at least 1, got {top_k}")\n'
LENGTH = "if len(token_ids) > self.max_positions:"
OUTSIDE = "if token < 0 or token >= self.vocab_size:"
FOUND = "predictions[position] = " + SORTED
RETURN = "    return predictions\n"
REFUSE = "    raise LikelihoodUnavailable"
SENTINEL = "if not 0 <= self.sentinel_id < self.vocab_size:"

Change = tuple[str, str]


def changed(*changes: Change) -> str:
    """The worked right submission with some of its text replaced."""
    text = SOLUTION
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def source() -> ExerciseSource:
    return load(CASES)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(cached_pack(ROOT, "fill_mask")) as made:
        yield made


def graded(runner: Runner, folder: Path, text: str) -> Result:
    path = folder / "fill_mask.py"
    path.write_text(text, "utf-8")
    return runner.grade(collect([path], asked_of(runner.pack)).submissions[0])


# --- right ones ---------------------------------------------------------------------------------------

LARGEST = """left = logits.copy()
            ids = []
            while len(ids) < min(top_k, len(left)):
                ids.append(int(np.argmax(left)))
                left[ids[-1]] = -np.inf
            predictions[position] = ids"""
KEPT = """last = np.sort(logits)[::-1][:top_k][-1]
            kept = np.flatnonzero(logits >= last)
            predictions[position] = sorted(kept, key=lambda i: (-logits[i], i))[:top_k]"""
INSERTED = """ids = []
            for i, logit in enumerate(logits):
                at = len(ids)
                while at and logits[ids[at - 1]] < logit:
                    at -= 1
                ids.insert(at, i)
            predictions[position] = tuple(ids[:top_k])"""

# Other orders of the sum, other dtypes, other ways to sort, to check, to keep a contract, to return.
RIGHT: dict[str, tuple[Change, ...]] = {
    "sorted": ((SORTED, "sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:top_k]"),),
    "sorted_reverse_is_stable": (
        (SORTED, "sorted(range(len(logits)), key=lambda i: logits[i], reverse=True)[:top_k]"),
    ),
    "nlargest": (
        ("import numpy", "import heapq\n\nimport numpy"),
        (SORTED, "heapq.nlargest(top_k, range(len(logits)), key=lambda i: (logits[i], -i))"),
    ),
    "reversed_twice": (
        (SORTED, '(len(logits) - 1 - np.argsort(logits[::-1], kind="stable")[::-1])[:top_k].tolist()'),
    ),
    "largest_again_and_again": (
        (
            FOUND,
            LARGEST,
        ),
    ),
    "from_the_last_that_is_kept": (
        (
            FOUND,
            KEPT,
        ),
    ),
    "insertion_by_hand": (
        (
            FOUND,
            INSERTED,
        ),
    ),
    "arrays_returned": ((SORTED, 'np.argsort(-logits, kind="stable")[:top_k].astype(np.int32)'),),
    "numpy_keys": (("predictions[position] =", "predictions[np.int64(position)] ="),),
    "head_at_every_position": (
        ("    predictions = {}\n", '    every = (rows + total) @ weights["head"].T\n    predictions = {}\n'),
        (HEAD, "every[position]"),
    ),
    "head_on_parts": ((HEAD, 'weights["head"] @ rows[position] + weights["head"] @ total'),),
    "attention_matrix": (
        ("    total = rows.sum(axis=0)\n", "    total = (np.ones((len(rows), len(rows))) @ rows)[0]\n"),
    ),
    "float32": ((ROWS, f"({ROWS}).astype(np.float32)"), (HEAD, HEAD.replace(" @", ".astype(np.float32) @"))),
    "shifted_logits": (
        ("logits = " + HEAD, "logits = " + HEAD + "\n            logits = logits - logits.max()"),
    ),
    "torch": (
        ("import numpy as np", "import numpy as np\nimport torch"),
        (SORTED, "torch.argsort(torch.tensor(logits), descending=True, stable=True)[:top_k]"),
    ),
    "positions_from_numpy": (
        (
            "for position, token in enumerate(token_ids):\n        if token == contract.sentinel_id:",
            "for position in np.flatnonzero(np.equal(token_ids, contract.sentinel_id)):\n        if True:",
        ),
    ),
    "early_return_after_the_checks": (
        (
            CHECKED + TOP_K,
            CHECKED + TOP_K + "    if contract.sentinel_id not in token_ids:\n        return {}\n",
        ),
    ),
    "checks_by_minimum": ((OUTSIDE, "if not -1 < token < self.vocab_size:"),),
    "slots": (("@dataclass(frozen=True)", "@dataclass(frozen=True, slots=True)"),),
    "validated_where_made": (("def validate(self, token_ids):", "def validate(self, token_ids, /):"),),
    "errors_below_others": (
        (
            "class SequenceTooLong(ValueError):",
            "class BadIds(ValueError):\n    pass\n\n\nclass SequenceTooLong(BadIds):",
        ),
        ("class TokenizerMismatch(ValueError):", "class TokenizerMismatch(BadIds, LookupError):"),
    ),
    "mismatch_where_empty": (('raise ValueError("empty sequence")', 'raise TokenizerMismatch("empty")'),),
    "all_strangers_told": (
        ('f"token id {token}, but', 'f"ids {[i for i in token_ids if not 0 <= i < self.vocab_size]}, but'),
    ),
    "numpy_figures": (
        ('"signal_fraction": rate', '"signal_fraction": np.float64(rate)'),
        ('"head_share_of_naive": head', '"head_share_of_naive": np.float32(head)'),
    ),
    "shares_by_width": (
        ("encoder = 12 * n_positions * width**2", "encoder = 6 * width"),
        ("head = 2 * n_positions * width * vocab_size", "head = vocab_size"),
    ),
    "assertions_of_its_own": (("    encoder = 12", "    assert rate\n    print(rate)\n    encoder = 12"),),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_way_gets_full_marks(runner: Runner, tmp_path: Path, name: str) -> None:
    result = graded(runner, tmp_path, changed(*RIGHT[name]))
    told = [(case.id, case.message) for case in result.cases if case.verdict != "passed"]
    assert (told, result.policy.status) == ([], "clean")
    assert result.score == result.max_score


# --- wrong ones ---------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, tuple[Change, ...]]] = {
    "another_name": (
        "contract",
        (("    vocab_size: int\n    sentinel_id: int\n", "    sentinel_id: int\n    vocab_size: int\n"),),
    ),
    "sentinel_one_too_far": ("contract_values", ((SENTINEL, SENTINEL.replace("< self", "<= self")),)),
    "sentinel_below_zero": ("contract_values", ((SENTINEL, "if self.sentinel_id >= self.vocab_size:"),)),
    "no_positions_allowed": (
        "contract_values",
        (("if self.max_positions < 1:", "if self.max_positions < 0:"),),
    ),
    "not_frozen": ("fixed", (("@dataclass(frozen=True)", "@dataclass"),)),
    "empty_is_fine": ("empty", (("if len(token_ids) == 0:", "if token_ids is None:"),)),
    "zeros_are_nothing": ("empty", (("if len(token_ids) == 0:", "if not any(token_ids):"),)),
    "full_length_refused": ("too_long", ((LENGTH, LENGTH.replace(">", ">=")),)),
    "one_figure_missing": (
        "too_long",
        (("tokens, at most {self.max_positions} fit", "tokens are too many"),),
    ),
    "vocab_size_is_an_id": ("vocabulary", ((OUTSIDE, OUTSIDE.replace(">=", ">")),)),
    "negative_ids": ("vocabulary", ((OUTSIDE, "if token >= self.vocab_size:"),)),
    "absolute_ids": ("vocabulary", ((OUTSIDE, "if abs(token) >= self.vocab_size:"),)),
    "last_id_refused": ("vocabulary", ((OUTSIDE, "if token not in range(self.vocab_size - 1):"),)),
    "position_told": ("vocabulary", (("token id {token}, but", "token at {token_ids.index(token)}, but"),)),
    "last_stranger_told": ("vocabulary", (("for token in token_ids:", "for token in token_ids[::-1]:"),)),
    "top_k_first": ("check_order", ((CHECKED + TOP_K, TOP_K + CHECKED),)),
    "no_value_error": ("exceptions", (("TokenizerMismatch(ValueError)", "TokenizerMismatch(IndexError)"),)),
    "runtime_error": ("exceptions", (("Unavailable(NotImplementedError)", "Unavailable(RuntimeError)"),)),
    "unguarded": ("guard", ((CHECKED, ""),)),
    "guarded_at_masks": (
        "guard",
        ((CHECKED, "    if contract.sentinel_id in token_ids:\n        contract.validate(token_ids)\n"),),
    ),
    "no_positions": ("states", ((ROWS, 'weights["token_embed"][token_ids]'),)),
    "no_own_row": ("states", ((HEAD, 'weights["head"] @ total'),)),
    "mean": ("states", (("rows.sum(axis=0)", "rows.mean(axis=0)"),)),
    "no_masks_read": (
        "context",
        (("rows.sum(axis=0)", "rows[[t != contract.sentinel_id for t in token_ids]].sum(axis=0)"),),
    ),
    "all_of_pos_embed": (
        "context",
        (("rows.sum(axis=0)", 'weights["token_embed"][token_ids].sum(0) + weights["pos_embed"].sum(0)'),),
    ),
    "right_side_only": ("context", ((HEAD, 'weights["head"] @ (rows[position] + rows[position:].sum(0))'),)),
    "square_head_transposed": (
        "logits",
        (
            (
                HEAD,
                '(weights["head"].T if len(set(weights["head"].shape)) == 1 else '
                + HEAD.replace(" @", ") @"),
            ),
        ),
    ),
    "embedding_as_head": ("logits", ((HEAD, HEAD.replace("head", "token_embed")),)),
    "one_mask": ("masked_positions", ((FOUND, FOUND + "\n            break"),)),
    "zero_is_no_sentinel": (
        "masked_positions",
        (("if token == contract.sentinel_id:", "if token and token == contract.sentinel_id:"),),
    ),
    "none_for_none": ("masked_positions", (("return predictions\n", "return predictions or None\n"),)),
    "by_size": ("ranking", ((SORTED, 'np.argsort(-abs(logits), kind="stable")[:top_k].tolist()'),)),
    "best_last": ("ranking", ((SORTED, 'np.argsort(-logits, kind="stable")[:top_k][::-1].tolist()'),)),
    "turned_round": ("ties", ((SORTED, 'np.argsort(logits, kind="stable")[::-1][:top_k].tolist()'),)),
    "edge_by_larger_id": (
        "ties",
        (
            (
                SORTED,
                'sorted(np.argsort(logits, kind="stable")[-top_k:].tolist(), key=lambda i: (-logits[i], i))',
            ),
        ),
    ),
    "distinct_logits": ("ties", ((SORTED, "np.unique(-logits, return_index=True)[1][:top_k].tolist()"),)),
    "ten_by_default": ("top_k", (("top_k=5", "top_k=10"),)),
    "slice_below_zero": ("top_k", ((TOP_K, ""),)),
    "padded": ("top_k", ((SORTED, SORTED + " + [0] * (top_k - len(logits))"),)),
    "checked_at_masks": (
        "top_k",
        ((TOP_K, TOP_K.replace("if top_k < 1", "if top_k < 1 and contract.sentinel_id in token_ids")),),
    ),
    "no_sentinel_predicted": (
        "candidates",
        (
            (
                FOUND,
                FOUND
                + "\n            predictions[position] = [i for i in predictions[position] if i != token]",
            ),
        ),
    ),
    "text_keys": ("token_ids", (("predictions[position] =", "predictions[str(position)] ="),)),
    "bytes": ("token_ids", ((SORTED, SORTED.replace(".tolist", ".astype(np.uint8).tolist")),)),
    "floats": ("token_ids", ((SORTED, SORTED.replace(".tolist", ".astype(float).tolist")),)),
    "softmax": (
        "range",
        (
            (
                "            predictions[position]",
                "            logits = np.exp(logits - logits.max())\n            predictions[position]",
            ),
        ),
    ),
    "rounded": ("range", (("-logits, kind", "-logits.round(), kind"),)),
    "half": ("range", (("-logits, kind", "-logits.astype(np.float16), kind"),)),
    "filled_in_place": (
        "inputs",
        ((RETURN, "    for i in predictions:\n        token_ids[i] += 1\n" + RETURN),),
    ),
    "embedding_in_place": ("inputs", (("    total =", '    weights["token_embed"] += 0.5\n    total ='),)),
    "weights_dropped": ("inputs", ((RETURN, '    del weights["head"]\n    return predictions\n'),)),
    "mutable_default": (
        "repeatable",
        (("top_k=5):", "top_k=5, predictions={}):"), ("    predictions = {}\n", "")),
    ),
    "a_number": ("likelihood", (("    raise LikelihoodUnavailable(f", "    return len(f"),)),
    "not_of_one": ("likelihood", ((REFUSE, "    if len(token_ids) == 1:\n        return -1.0\n" + REFUSE),)),
    "checks_first": ("likelihood", ((REFUSE, "    if not token_ids:\n        raise ValueError\n" + REFUSE),)),
    "swapped": ("signal", (('_saved_fraction": 1 - rate', '_saved_fraction": rate'),)),
    "whole_numbers": ("head_share", (("head / (encoder", "head // (encoder"),)),
    "ratio": ("head_share", (("rate * head / (encoder + rate * head)", "rate * head / encoder"),)),
    "once": ("head_share", (("head = 2 * n_positions", "head = n_positions"),)),
    "ends_allowed": ("efficiency_arguments", (("if not 0 < rate < 1:", "if not 0 <= rate <= 1:"),)),
    "sizes_of_zero": ("efficiency_arguments", (("if size < 1:", "if size < 0:"),)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_way_fails_in_its_clause(runner: Runner, tmp_path: Path, name: str) -> None:
    clause, changes = WRONG[name]
    result = graded(runner, tmp_path, changed(*changes))
    failed = {case.clause for case in result.cases if case.verdict not in ("passed", "skipped")}
    assert result.status == "failed"
    assert clause in failed
    public = [c for c in result.cases if c.visibility == "public" and c.verdict not in ("passed", "skipped")]
    assert clause in {case.clause for case in public}, "a student can find it"


@pytest.mark.parametrize(
    "container", ["tuple(ids)", "np.array(ids)", "torch.tensor(ids)", "list(np.array(ids))"]
)
@pytest.mark.parametrize("name", ["by_size", "turned_round", "mean", "embedding_as_head", "no_positions"])
def test_a_mistake_is_named_in_every_container_that_is_allowed(
    runner: Runner, tmp_path: Path, name: str, container: str
) -> None:
    """``also`` lets tuples and arrays through: a mistake in them is the mistake that it is in a list."""
    text = changed(*WRONG[name][1])
    wanted = graded(runner, tmp_path, text)
    assert wanted.diagnoses and wanted.diagnoses[0]["told_by"] == "values"
    other = text.replace(RETURN, f"    return {{at: {container} for at, ids in predictions.items()}}\n")
    assert other != text
    found = graded(runner, tmp_path, other.replace("import numpy as np", "import numpy as np\nimport torch"))
    told = [[(one["ids"], one["told_by"]) for one in result.diagnoses] for result in (wanted, found)]
    assert told[0] == told[1]
    assert (found.counterexample is None) == (wanted.counterexample is None)


# --- facts of the statement -----------------------------------------------------------------------------


def module() -> types.ModuleType:
    return load_module(REFERENCE, "model")


def test_the_example_of_the_statement_is_right() -> None:
    """Its code is run with the reference, and its answer is the one that stands below it."""
    text = (CASES / "statement.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(import numpy.*?)```", text, re.DOTALL)
    weights: dict[str, Any] = {}
    exec(code.partition("contract =")[0], weights)
    answer = module().fill_mask([0, 3, 1], weights["weights"], 4, 3, 4, 3)
    assert f"```\n{answer}\n```" in text
    found = module().masking_rate_efficiency(0.25, 10, 4, 24)
    assert {name: float(value) for name, value in found.items()} == pytest.approx(
        {
            "signal_fraction": 0.25,
            "head_flops_saved_fraction": 0.75,
            "head_share_of_naive": 0.5,
            "head_share_of_gathered": 0.2,
        }
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_ranking_is_the_one_order_that_fits_the_rule(seed: int) -> None:
    """Of all orders of the vocabulary one alone has falling logits and rising ids among equal ones."""
    noise = np.random.default_rng(seed)
    size, ids = 5, [0, 2, 0]
    shapes = {"token_embed": (size, 2), "pos_embed": (3, 2), "head": (size, 2)}
    weights = {name: noise.integers(-1, 2, shape).astype(float) for name, shape in shapes.items()}
    rows = weights["token_embed"][ids] + weights["pos_embed"]
    answer = module().fill_mask(ids, weights, size, 0, 3, size)
    assert list(answer) == [0, 2]
    for position, ranked in answer.items():
        logits = [math.fsum(line * (rows[position] + rows.sum(0))) for line in weights["head"]]
        (only,) = [
            order
            for order in itertools.permutations(range(size))
            if all((-logits[a], a) < (-logits[b], b) for a, b in itertools.pairwise(order))
        ]
        assert tuple(ranked) == only


@pytest.mark.parametrize("rate", [0.01, 0.15, 0.4, 0.99])
def test_the_shares_come_from_counting_every_product(rate: float) -> None:
    """12 width² and 2 width V a position, counted by loops over positions of a small model."""
    positions, width, tokens = 6, 3, 11
    encoder = sum(12 for _ in itertools.product(range(positions), range(width), range(width)))
    head = sum(2 for _ in itertools.product(range(positions), range(width), range(tokens)))
    found = module().masking_rate_efficiency(rate, positions, width, tokens)
    assert found["head_share_of_naive"] == pytest.approx(head / (head + encoder))
    assert found["head_share_of_gathered"] == pytest.approx(rate * head / (rate * head + encoder))
    assert found["head_share_of_gathered"] < found["head_share_of_naive"]
    assert found["signal_fraction"] + found["head_flops_saved_fraction"] == pytest.approx(1)


def test_no_ranking_hangs_on_rounding(source: ExerciseSource) -> None:
    """What is ranked came out alike in float32 and float64 and in every order."""
    frozen = source.require_fresh_frozen()
    of_call = {e.spec.id: e.spec.call for e in source.entries}
    ranked = [
        name for name in frozen.cases if of_call.get(re.sub(r"_\d\d$", "", name), of_call.get(name)) == ""
    ]
    noises = [frozen.cases[name].noise for name in ranked if frozen.cases[name].noise is not None]
    assert len(noises) > 30
    # No more than rounding the answer itself.
    assert max(noises) < 1e-7


def test_the_demonstration_shows_what_the_reference_gives(source: ExerciseSource) -> None:
    shown = {example.id: example for example in demonstration_of(source).examples}
    states = shown["states"]
    logits = np.array(next(m for m in states.matrices if m.label.startswith("Logits")).values)
    for row, vector in zip(logits, states.vectors, strict=True):
        assert [int(text.removeprefix("id ")) for text in vector.values] == np.lexsort(
            (np.arange(len(row)), -row)
        ).tolist()
    raised = shown["refused"].vectors[0].values
    assert {"SequenceTooLong", "TokenizerMismatch", "LikelihoodUnavailable"} <= set(raised)


def test_the_readme_names_every_case_and_no_other(source: ExerciseSource) -> None:
    rows = [line for line in (CASES / "README.md").read_text("utf-8").splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z][a-z0-9_]+)`", row)}
    ids = {entry.spec.id for entry in source.entries}
    batches = {entry.spec.id for entry in source.entries if isinstance(entry.spec, RandomCases)}
    assert ids - batches - named == set()
    assert all(f"`{batch}_NN`" in " ".join(rows) for batch in batches)
    assert set(source.exercise.clauses) <= named
