"""The exercise mlm_corruption: right answers of many kinds get full marks, wrong ones lose their clause."""

from __future__ import annotations

import itertools
import re
import types
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.authoring.adequacy import Suite, Trial
from grader.authoring.worked import read_worked
from grader.exercise.cached import cached_pack
from grader.exercise.driving import bound
from grader.exercise.models import RandomCases
from grader.exercise.source import ExerciseSource, load

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "cases" / "mlm_corruption"
WORKED = ROOT / "submissions" / "mlm_corruption"
BASE = (WORKED / "right_vectorized.py").read_text("utf-8")


@pytest.fixture(scope="module")
def source() -> ExerciseSource:
    return load(CASES)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(cached_pack(ROOT, "mlm_corruption"))


def trial(suite: Suite, text: str) -> Trial:
    """What a submission of this text gets, run in this process as the driver calls it."""
    module = types.ModuleType("submission")
    exec(compile(text, "submission", "exec", dont_inherit=True), vars(module))
    driver = (CASES / "driver.py").read_text("utf-8")
    calls = tuple(suite.pack.exercise.calls)
    return suite.trial("submission", bound(driver, module, calls, "corrupt_batch"))


def edited(*changes: tuple[str, str], text: str = BASE) -> str:
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


CHOICE = "(rng.random((N, T)) < policy.rate) & valid"
DRAWS = "    draws = rng.random((N, T))\n"
SENTINEL = "chosen & (draws < policy.prob_sentinel)"
RANDOM = "chosen & ~use_sentinel & (draws < policy.prob_sentinel + policy.prob_random)"
TOKENS = "rng.integers(0, vocab_size, size=use_random.sum())"
STARTS = "rng.choice(max(1, length - s + 1), size=k, replace=False)"
SPANS = "round(length * policy.rate / s)"
FITTING = (STARTS, STARTS.replace("size=k", "size=min(k, max(1, length - s + 1))"))
RATE = "        if not 0 < self.rate < 1:\n"
FORCED = """        if not chosen.any():
            rows = np.flatnonzero(lengths > 0)
            chosen[rows, lengths[rows] - 1] = True
"""
IDS = """    if ((real < 0) | (real >= vocab_size)).any():
        raise ValueError("token ids outside the vocabulary")
"""
POLICY = BASE[BASE.index("@dataclass") : BASE.index("def choose_spans")]
RETURN = BASE[BASE.index("    return {\n") :]
FIELDS = RETURN.replace("    return {", "    found = {")

RIGHT = {
    "namespace": edited((RETURN, FIELDS + "    import types\n    return types.SimpleNamespace(**found)\n")),
    "named tuple": edited(
        (
            RETURN,
            FIELDS + "    from collections import namedtuple\n    return namedtuple('B', found)(**found)\n",
        )
    ),
    "dataclass": edited(
        (
            RETURN,
            FIELDS + "    from dataclasses import make_dataclass\n"
            "    return make_dataclass('B', list(found), frozen=True)(**found)\n",
        )
    ),
    "further items": edited((RETURN, FIELDS + "    return {**found, 'chosen': chosen, 'note': 'more'}\n")),
    "int32 answers": edited(
        (
            RETURN,
            FIELDS + "    return {k: v if k == 'valid' else v.astype(np.int32) for k, v in found.items()}\n",
        )
    ),
    "torch tensors": edited(
        (RETURN, FIELDS + "    import torch\n    return {k: torch.tensor(v) for k, v in found.items()}\n")
    ),
    "at most the rate": edited((CHOICE, "(rng.uniform(size=(N, T)) <= policy.rate) & valid")),
    "above 1 - rate": edited((CHOICE, "(rng.random((N, T)) > 1 - policy.rate) & valid")),
    "float32 draws": edited((CHOICE, "(rng.random((N, T), dtype=np.float32) < policy.rate) & valid")),
    "coins": edited((CHOICE, "(rng.binomial(1, policy.rate, size=(N, T)) == 1) & valid")),
    "real positions alone": edited(
        (CHOICE, "np.zeros((N, T), bool)\n        chosen[valid] = rng.random(valid.sum()) < policy.rate")
    ),
    "columns first": edited((CHOICE, "(rng.random((T, N)).T < policy.rate) & valid")),
    "gaps between choices": edited(
        (
            CHOICE,
            (
                "np.zeros((N, T), bool)\n"
                "        places, at = np.flatnonzero(valid), rng.geometric(policy.rate) - 1\n"
                "        while at < len(places):\n"
                "            chosen.flat[places[at]] = True\n"
                "            at += rng.geometric(policy.rate)"
            ),
        )
    ),
    "number, then places": edited(
        (
            CHOICE,
            (
                "np.zeros((N, T), bool)\n"
                "        places = rng.permutation(np.flatnonzero(valid))\n"
                "        chosen.flat[places[: rng.binomial(len(places), policy.rate)]] = True"
            ),
        )
    ),
    "replacements drawn first": edited(
        (DRAWS, ""), ("    valid = np", DRAWS + "    valid = np"), (TOKENS, "anything[use_random]")
    ).replace(DRAWS, DRAWS + "    anything = rng.integers(0, vocab_size, size=(N, T))\n"),
    "kinds by choice": edited(
        (
            DRAWS,
            (
                "    p = [policy.prob_sentinel, policy.prob_random]\n"
                "    kinds = rng.choice(3, size=(N, T), p=[*p, max(0, 1 - sum(p))])\n"
            ),
        ),
        (SENTINEL, "chosen & (kinds == 0)"),
        (RANDOM, "chosen & (kinds == 1)"),
    ),
    "random tokens at the lower end": edited(
        (SENTINEL, "chosen & (draws >= 1 - policy.prob_sentinel)"),
        (RANDOM, "chosen & ~use_sentinel & (draws < policy.prob_random)"),
    ),
    "tokens by floor": edited((TOKENS, "np.floor(rng.random(use_random.sum()) * vocab_size).astype(int)")),
    "tokens by choice": edited((TOKENS, "rng.choice(vocab_size, use_random.sum())")),
    "starts by permutation": edited((STARTS, "rng.permutation(max(1, length - s + 1))[:k]")),
    "starts drawn again": edited(
        (
            "        for start in " + STARTS + ":",
            (
                "        starts = set()\n"
                "        while len(starts) < k:\n"
                "            starts.add(int(rng.integers(max(1, length - s + 1))))\n"
                "        for start in starts:"
            ),
        )
    ),
    "round half up": edited(("round(length * policy.rate / s)", "int(policy.rate / s * length + 0.5)")),
    "other generator": edited(
        ("    N, T = token", "    rng = np.random.default_rng(rng.integers(2**63))\n    N, T = token")
    ),
    "old generator": edited(
        (
            "    N, T = token",
            (
                "    rng = np.random.RandomState(rng.integers(2**31))\n"
                "    rng.random, rng.integers = rng.random_sample, rng.randint\n    N, T = token"
            ),
        )
    )
    .replace(
        "rng.random, rng.integers = rng.random_sample, rng.randint",
        "draw, whole = rng.random_sample, rng.randint",
    )
    .replace("rng.random((N, T))", "draw((N, T))")
    .replace("rng.integers(0, vocab_size, size", "whole(0, vocab_size, size"),
    "bits in between": edited((DRAWS, "    rng.bytes(3), rng.normal()\n" + DRAWS)),
    "policy with slots and setattr": edited(
        (
            POLICY,
            (
                "NAMES = ['rate', 'prob_sentinel', 'prob_random', 'span_length']\n"
                "class CorruptionPolicy:\n"
                "    def __init__(self, *args, **kwargs):\n"
                "        got = dict(zip(NAMES, args), **kwargs)\n"
                "        got = {**dict(zip(NAMES, [0.15, 0.8, 0.1, 1])), **got}\n"
                "        if not 0 < got['rate'] < 1: raise ValueError(got)\n"
                "        if min(got[k] for k in NAMES[1:3]) < 0: raise ValueError(got)\n"
                "        if got[NAMES[1]] + got[NAMES[2]] > 1 + 1e-9: raise ValueError(got)\n"
                "        if not isinstance(got['span_length'], int): raise TypeError(got)\n"
                "        if got['span_length'] < 1: raise ValueError(got)\n"
                "        self.__dict__.update(got, prob_unchanged=1 - got[NAMES[1]] - got[NAMES[2]])\n"
                "    def __setattr__(self, name, value):\n"
                "        raise AttributeError(name)\n\n\n"
            ),
        )
    ),
    "policy as a named tuple": edited(
        (
            POLICY,
            (
                "from typing import NamedTuple\n"
                "class Fields(NamedTuple):\n"
                "    rate: float = 0.15\n    prob_sentinel: float = 0.8\n"
                "    prob_random: float = 0.1\n    span_length: int = 1\n"
                "class CorruptionPolicy(Fields):\n"
                "    __slots__ = ()\n"
                "    def __new__(cls, *args, **kwargs):\n"
                "        self = super().__new__(cls, *args, **kwargs)\n"
                "        r, a, b, s = self\n"
                "        if r <= 0 or r >= 1 or a < 0 or b < 0 or a + b > 1 or s < 1 or s % 1:\n"
                "            raise ValueError(f'no policy: {self}')\n"
                "        return self\n"
                "    prob_unchanged = property(lambda self: 1 - (self[1] + self[2]))\n\n\n"
            ),
        )
    ),
    "errors of its own": edited(
        (
            "class CorruptionPolicy",
            "class Bad(ValueError):\n    pass\n\n\n@dataclass(frozen=True)\nclass CorruptionPolicy",
        )
    )
    .replace("@dataclass(frozen=True)\nclass Bad", "class Bad")
    .replace("raise ValueError", "raise Bad"),
    "a class with a call": edited(("def corrupt_batch(", "class Batches:\n  def __call__(self, "))
    .replace("\n    ", "\n      ")
    .replace("class CorruptionPolicy:\n      ", "class CorruptionPolicy:\n      ")
    + "\n\ncorrupt_batch = Batches()\n",
}

# What is wrong, with a clause that it must lose.
WRONG = {
    "row by row forced": (
        "forced",
        edited(
            (
                FORCED,
                FORCED.replace("if not chosen.any():", "for n in range(N):").replace(
                    "rows = np.flatnonzero(lengths > 0)",
                    "rows = np.array([n][: lengths[n] and not chosen[n].any()], int)",
                ),
            )
        ),
    ),
    "forced ones never replaced": (
        "forced",
        edited(
            (CHOICE, "(rng.random((N, T)) < policy.rate) & valid\n        draws = None"),
            ("        chosen = (", "        once = rng.random((N, T))\n        chosen = ("),
            (DRAWS, "    draws = once / policy.rate if policy.span_length == 1 else rng.random((N, T))\n"),
        ).replace("(rng.random((N, T)) < policy.rate) & valid\n", "(once < policy.rate) & valid\n"),
    ),
    "forced ones never random": (
        "forced",
        edited((RANDOM, RANDOM + " & (policy.rate > 1e-9)")),
    ),
    "spans by the width": ("span_count", edited((SPANS, SPANS.replace("length", "T")), FITTING)),
    "spans by the longest": (
        "span_count",
        edited((SPANS, SPANS.replace("length", "lengths.max()")), FITTING),
    ),
    "sum a little above 1": (
        "proportions",
        edited(
            ("self.prob_sentinel + self.prob_random > 1", "self.prob_sentinel + self.prob_random > 1.0001")
        ),
    ),
    "low rate not named": (
        "messages",
        edited((RATE, "        if self.rate <= 0:\n            raise ValueError('too low')\n" + RATE)),
    ),
    "one field not fixed": (
        "fixed",
        edited(
            (
                "    @property\n    def prob_unchanged",
                (
                    "    def __setattr__(self, name, value):\n"
                    "        if name != 'prob_sentinel':\n"
                    "            raise AttributeError(name)\n"
                    "        self.__dict__[name] = value\n\n"
                    "    @property\n    def prob_unchanged"
                ),
            ),
            ("@dataclass(frozen=True)\n", ""),
            (
                "    def __post_init__(self):\n",
                (
                    "    def __init__(self, rate=0.15, prob_sentinel=0.8, prob_random=0.1, span_length=1):\n"
                    "        self.__dict__.update(rate=rate, prob_sentinel=prob_sentinel)\n"
                    "        self.__dict__.update(prob_random=prob_random, span_length=span_length)\n"
                ),
            ),
        ),
    ),
    "tokens below 256": (
        "random_tokens",
        edited((TOKENS, TOKENS.replace("vocab_size", "min(256, vocab_size)"))),
    ),
    "tokens of two bytes": ("random_tokens", edited((TOKENS, TOKENS + ".astype(np.uint16)"))),
    "nothing forced": ("forced", edited((FORCED, ""))),
    "first forced": ("forced", edited((FORCED, FORCED.replace("lengths[rows] - 1", "0")))),
    "last column forced": ("forced", edited((FORCED, FORCED.replace("lengths[rows] - 1", "-1")))),
    "padding of empty rows forced": (
        "forced",
        edited((FORCED, FORCED.replace("np.flatnonzero(lengths > 0)", "np.arange(N)"))),
    ),
    "real one too many": ("valid", edited(("np.arange(T) < lengths", "np.arange(T) <= lengths"))),
    "valid by the token": ("any_token", edited((CHOICE, CHOICE + " & (token_ids != 0)"))),
    "rate of the rectangle": (
        "rate",
        edited((CHOICE, "(rng.random((N, T)) * valid.sum() < policy.rate * N * T) & valid")),
    ),
    "rate a little high": ("rate", edited((CHOICE, "(rng.random((N, T)) < policy.rate * 1.25) & valid"))),
    "exact number of choices": (
        "independence",
        edited(
            (
                CHOICE,
                (
                    "np.zeros((N, T), bool)\n"
                    "        places = rng.permutation(np.flatnonzero(valid))\n"
                    "        chosen.flat[places[: round(policy.rate * len(places))]] = True"
                ),
            )
        ),
    ),
    "one draw for all rows": ("independence", edited((CHOICE, "(rng.random((1, T)) < policy.rate) & valid"))),
    "same kind in a row": ("independence", edited((DRAWS, "    draws = rng.random((N, 1)) + np.zeros(T)\n"))),
    "same kind in a column": (
        "independence",
        edited((DRAWS, "    draws = rng.random((1, T)) + np.zeros((N, 1))\n")),
    ),
    "split a little off": ("split", edited((SENTINEL, "chosen & (draws < policy.prob_sentinel - 0.06)"))),
    "random instead of unchanged": ("split", edited((RANDOM, "chosen & ~use_sentinel"))),
    "random at all positions": ("kept_tokens", edited((RANDOM, RANDOM.replace("chosen", "valid")))),
    "tokens to V - 2": (
        "random_tokens",
        edited((TOKENS, TOKENS.replace("vocab_size", "max(1, vocab_size - 1)"))),
    ),
    "tokens by rounding": (
        "random_tokens",
        edited((TOKENS, "np.round(rng.random(use_random.sum()) * (vocab_size - 1)).astype(int)")),
    ),
    "one token for all": ("random_tokens", edited((TOKENS, "rng.integers(0, vocab_size)"))),
    "targets afterwards": ("targets", edited(("token_ids[rows, cols]", "corrupted[rows, cols]"))),
    "positions as columns": ("positions", edited(("rows * T + cols", "cols"))),
    "positions with lengths": (
        "positions",
        edited(("rows * T + cols", "np.cumsum(lengths)[rows - 1] * (rows > 0) + cols")),
    ),
    "positions backwards": (
        "positions",
        edited(
            ("    rows, cols = np.nonzero(chosen)", "    rows, cols = (x[::-1] for x in np.nonzero(chosen))")
        ),
    ),
    "rows as columns": ("row_of", edited(('"row_of": rows', '"row_of": cols'))),
    "spans cut": ("span_count", edited(("round(length * policy.rate / s)", "int(length * policy.rate / s)"))),
    "spans apart": (
        "span_count",
        edited(
            (STARTS, "s * rng.choice(max(1, length // s), size=min(k, max(1, length // s)), replace=False)")
        ),
    ),
    "starts that repeat": ("span_count", edited((STARTS, "rng.integers(max(1, length - s + 1), size=k)"))),
    "last start left out": (
        "span_starts",
        edited(
            (
                STARTS,
                STARTS.replace("length - s + 1", "length - s").replace(
                    "size=k", "size=min(k, max(1, length - s))"
                ),
            )
        ),
    ),
    "spans in the padding": ("span_starts", edited(("min(start + s, length)", "start + s"))),
    "policy not frozen": ("fixed", edited(("@dataclass(frozen=True)", "@dataclass"))),
    "rate of 1": ("rate_range", edited(("0 < self.rate < 1", "0 < self.rate <= 1"))),
    "negative proportion": (
        "proportions",
        edited(("self.prob_sentinel < 0 or self.prob_random < 0 or ", "")),
    ),
    "half a span": ("span_range", edited(("self.span_length != int(self.span_length) or ", ""))),
    "message without value": ("messages", edited((", got {self.rate}", ""))),
    "unchanged is fixed": ("remainder", edited(("1 - self.prob_sentinel - self.prob_random", "0.1"))),
    "ids not checked": ("bad_ids", edited((IDS, ""))),
    "ids in the padding checked": ("padding", edited(("real = token_ids[valid]", "real = token_ids"))),
    "lengths stretched": (
        "bad_lengths",
        edited(
            ("lengths.shape != (N,) or ", ""),
            ("    valid =", "    lengths = lengths + np.zeros(N, int)\n    valid ="),
        ),
    ),
    "in place": (
        "inputs",
        edited(
            ("corrupted = token_ids.copy()", "targets = token_ids.copy(); corrupted = token_ids"),
            ("token_ids[rows, cols]", "targets[rows, cols]"),
        ),
    ),
    "view of the ids": (
        "inputs",
        edited(
            (
                '"corrupted": corrupted',
                '"corrupted": corrupted if (corrupted != token_ids).any() else token_ids',
            )
        ),
    ),
    "generator of its own": (
        "generator",
        edited(("    N, T = token", "    rng = np.random.default_rng(7)\n    N, T = token")),
    ),
    "copy of the generator": (
        "generator",
        edited(("    N, T = token", "    import copy\n    rng = copy.deepcopy(rng)\n    N, T = token")),
    ),
    "global numbers": ("generator", edited((DRAWS, "    draws = np.random.rand(N, T)\n"))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_variant_gets_full_marks(suite: Suite, name: str) -> None:
    found = trial(suite, RIGHT[name])
    assert found.killed == () and found.score == suite.pack.max_score == 100


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variant_loses_its_clause(suite: Suite, name: str) -> None:
    clause, text = WRONG[name]
    killed = set(trial(suite, text).killed)
    assert killed & {case.id for case in suite.pack.cases if case.clause == clause}


# --- what the statement says --------------------------------------------------------------------


def test_the_example_of_the_statement() -> None:
    """With the statement's numbers in place of drawn ones a right submission gives the statement's answer."""
    namespace: dict[str, Any] = {"__name__": "submission"}
    exec(compile(BASE, "submission", "exec", dont_inherit=True), namespace)
    statement = (CASES / "statement.md").read_text("utf-8")
    block = statement.split("Say that these numbers are drawn")[1].split("```")[1]
    numbers = [float(n) for n in re.findall(r"\d\.\d+", block)]
    left, right = np.array(numbers).reshape(2, 2, 4).transpose(1, 0, 2)

    class Numbers:
        def __init__(self) -> None:
            self.left = [left, right]

        def random(self, shape: Any) -> Any:
            return self.left.pop(0)

        def integers(self, low: int, high: int, size: int) -> Any:
            return np.full(size, 7)

    ids, lengths = np.array([[3, 1, 4, 1], [5, 2, 0, 0]]), np.array([4, 2])
    answer = namespace["corrupt_batch"](ids, lengths, 9, 10, namespace["CorruptionPolicy"](0.4), Numbers())
    for name, value in answer.items():
        row = next(line for line in statement.splitlines() if line.startswith(f"| `{name}` | ["))
        assert eval(row.split("|")[2]) == value.tolist(), name


def law_of_two(rate: Fraction) -> dict[tuple[int, ...], Fraction]:
    """How probably each set of two positions is chosen, the last one forced where none is drawn."""
    law: dict[tuple[int, ...], Fraction] = {}
    for drawn in itertools.product((False, True), repeat=2):
        probability = Fraction(1)
        for each in drawn:
            probability *= rate if each else 1 - rate
        chosen = tuple(at for at, each in enumerate(drawn) if each) or (1,)
        law[chosen] = law.get(chosen, Fraction(0)) + probability
    return law


def test_the_law_of_two_positions(source: ExerciseSource) -> None:
    law = law_of_two(Fraction(1, 2))
    stated = _option(source, "two_positions", "probabilities")
    assert stated == [float(law[chosen]) for chosen in ((0,), (1,), (0, 1))]


@pytest.mark.parametrize("case, places, span", [("spans_of_two", 9, 2), ("spans_rounded_down", 7, 2)])
def test_the_law_of_two_spans(source: ExerciseSource, case: str, places: int, span: int) -> None:
    """By counting all pairs of different starts in six positions."""
    pairs = list(itertools.combinations(range(6 - span + 1), 2))
    sizes = Counter(len({at for start in pair for at in range(start, start + span)}) for pair in pairs)
    assert _option(source, case, "probabilities") == [sizes[n] / len(pairs) for n in range(places)]


def _option(source: ExerciseSource, case: str, key: str) -> Any:
    spec = next(entry.spec for entry in source.entries if entry.spec.id == case)
    return eval(getattr(spec.check, key))


def test_a_span_count_never_exceeds_the_places() -> None:
    """So that different starts can always be drawn, and no case is near a half that would be rounded."""
    for length, span in itertools.product(range(1, 60), range(2, 20)):
        for rate in (0.01, 0.15, 0.5, 0.9, 0.999999):
            assert max(1, round(length * rate / span)) <= max(1, length - span + 1)


def test_no_statistic_hangs_on_forced_positions(suite: Suite) -> None:
    """Where choices are counted, a batch with nothing drawn is rarer than 1 in 10**11."""
    for case in suite.pack.cases:
        if case.check != "statistic" or case.id == "two_positions":
            continue
        named = dict(suite.pack.arguments(case))
        # Where next to nothing is ever drawn, forced positions are what is counted.
        if named["span_length"] == 1 and named["rate"] > 1e-9:
            real = int(named["lengths"].sum())
            assert (1 - named["rate"]) ** real < 1e-11, case.id


# --- the suite ----------------------------------------------------------------------------------


def test_there_are_enough_cases_with_every_clause_public(source: ExerciseSource, suite: Suite) -> None:
    cases = suite.pack.cases
    assert len(cases) >= 80
    assert {case.clause for case in cases if case.visibility == "public"} == set(source.exercise.clauses)
    assert suite.pack.max_score == 100
    assert sum(case.points for case in cases if case.visibility == "public") == 75
    assert all(case.hint for case in cases)


def test_the_readme_names_every_case_and_no_other(source: ExerciseSource) -> None:
    rows = [line for line in (CASES / "README.md").read_text("utf-8").splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z][a-z0-9_]+)`", row)}
    batches = {entry.spec.id for entry in source.entries if isinstance(entry.spec, RandomCases)}
    ids = {entry.spec.id for entry in source.entries} - batches
    assert {batch for batch in batches if f"`{batch}_NN`" not in " ".join(rows)} == set()
    assert ids - named == set()
    assert named - ids - set(source.exercise.clauses) == set()


def test_there_are_worked_submissions_of_each_kind() -> None:
    kinds = Counter(one.path.stem.partition("_")[0] for one in read_worked(WORKED, []))
    assert kinds["right"] >= 3 and kinds["wrong"] >= 8 and kinds["banned"] >= 2
