"""Tolerances come from measured rounding noise; what can't be told from rounding is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import CASES, MODEL, ROUNDING, freeze_exercise, load_source, write_exercise

from grader.authoring.calibrate import FACTOR, FLOAT32_ROUNDING, USELESS, HonestRuns, _round_up
from grader.errors import ExerciseError, GraderError
from grader.exercise.answers import Answer
from grader.exercise.forms import Form
from grader.exercise.frozen import Frozen, Measured


@given(st.floats(1e-30, 1e30))
def test_figures_are_rounded_upward_to_two_digits(value: float) -> None:
    rounded = _round_up(value)
    assert value * (1 - 1e-8) <= rounded <= value * 1.11
    assert float(f"{rounded:.1e}") == rounded
    assert _round_up(rounded) == rounded


def test_nothing_is_nothing() -> None:
    assert _round_up(0.0) == 0


def runs(off: float, *, float64: float = 0.0, extra: str = "") -> str:
    """An honest run that is off by a share of the largest value, and one that is exact."""
    return (
        "import numpy as np\n"
        "from .model import row_scale\n\n\n"
        "def exact(arguments, dtype):\n    return row_scale(*arguments)\n\n\n"
        "def off(arguments, dtype):\n"
        "    answer = row_scale(*arguments)\n"
        f"    share = {off!r} if dtype == 'float32' else {float64!r}\n"
        "    return answer + share * np.max(np.abs(answer), initial=0)\n\n\n"
        'RUNS = {"exact": exact, "off": off}\n' + extra
    )


def measured(root: Path, rounding: str, **case: Any) -> Measured:
    write_exercise(root, cases=[CASES[0] | case], rounding=rounding)
    return freeze_exercise(root).cases["ones_row"]


@pytest.mark.parametrize("noise", [1e-6, 3e-5, 9e-4])
def test_the_tolerance_is_ten_times_the_worst_honest_noise(tmp_path: Path, noise: float) -> None:
    found = measured(tmp_path, runs(noise))
    assert found.noise == pytest.approx(noise, rel=0.11)
    assert found.noise is not None
    assert found.noise >= noise * (1 - 1e-8)
    assert found.tolerance == float(f"{FACTOR * found.noise:.1e}")
    assert found.run == "off in float32"


def test_noise_of_float64_runs_counts_too_and_is_told_apart(tmp_path: Path) -> None:
    found = measured(tmp_path, runs(1e-6, float64=1e-5))
    assert found.noise == pytest.approx(1e-5, rel=0.11)
    assert found.float64_noise == found.noise
    assert found.run == "off in float64"


def test_an_exact_case_has_the_tolerance_of_rounding_the_answer_to_float32(tmp_path: Path) -> None:
    found = measured(tmp_path, runs(0.0))
    assert found.noise == _round_up(FLOAT32_ROUNDING)
    assert found.tolerance == pytest.approx(10 * 2**-24, rel=0.11)


def test_the_tolerance_depends_on_neither_points_nor_words(tmp_path: Path) -> None:
    assert measured(tmp_path, runs(1e-6)) == measured(tmp_path, runs(1e-6), points=9, hint="x", title="y")


def test_a_tolerance_by_hand_is_kept(tmp_path: Path) -> None:
    assert measured(tmp_path, runs(1e-6), tolerance=5e-4).tolerance == 5e-4


def test_a_tolerance_that_would_let_mistakes_through_is_refused(tmp_path: Path) -> None:
    assert measured(tmp_path, runs(USELESS / FACTOR * 0.98)).tolerance is not None
    with pytest.raises(
        ExerciseError, match=r"checks\.yaml:1: ones_row: honest runs differ by .*; use smaller inputs, or"
    ):
        measured(tmp_path, runs(USELESS / FACTOR * 1.02))
    finite = measured(tmp_path, runs(0.5), check="finite")
    assert finite.tolerance is None
    assert finite.noise == pytest.approx(0.5, rel=0.11)


NAN = """

def fragile(arguments, dtype):
    return np.full((1, 3), np.nan)


RUNS["fragile"] = fragile
"""


def test_a_run_that_gives_nan_is_told_unless_it_is_named_fragile(tmp_path: Path) -> None:
    with pytest.raises(
        ExerciseError, match="ones_row: the run fragile in float32 gives NaN or infinity; make its inputs"
    ):
        measured(tmp_path, runs(1e-6, extra=NAN))
    found = measured(tmp_path, runs(1e-6, extra=NAN + 'FRAGILE = {"fragile"}\n'))
    assert found == measured(tmp_path, runs(1e-6))


def test_a_run_of_another_shape_or_one_that_fails_is_told(tmp_path: Path) -> None:
    shape = NAN.replace("(1, 3), np.nan", "(3, 1), 1.0")
    with pytest.raises(ExerciseError, match=r"the run fragile gives the shape \(3, 1\), expected \(1, 3\)$"):
        measured(tmp_path, runs(1e-6, extra=shape))
    fails = NAN.replace("return np.full((1, 3), np.nan)", "raise ValueError('no')")
    with pytest.raises(ExerciseError, match="the run fragile in float32 fails: ValueError: no"):
        measured(tmp_path, runs(1e-6, extra=fails + 'FRAGILE = {"fragile"}\n'))


@pytest.mark.parametrize("text", ["", "RUNS = {}\n", "RUNS = [1]\n"])
def test_a_module_without_runs_is_told(tmp_path: Path, text: str) -> None:
    write_exercise(tmp_path, rounding=text)
    with pytest.raises(
        GraderError, match=r"rounding\.py defines no RUNS, a dictionary of honest runs by name"
    ):
        HonestRuns(tmp_path / "reference" / "row_scale", load_source(tmp_path).exercise)


def test_a_reference_that_is_not_finite_is_told(tmp_path: Path) -> None:
    write_exercise(tmp_path, model=MODEL.replace("return factor", "return np.inf * factor"))
    with pytest.raises(ExerciseError) as caught:
        freeze_exercise(tmp_path)
    messages = [p.message for p in caught.value.problems]
    assert "ones_row: the reference's answer is not finite; make its inputs smaller" in messages
    assert len(messages) > 5, "all cases are told at once"


def test_what_is_frozen_of_a_case_depends_on_what_it_checks(frozen: Frozen) -> None:
    assert frozen.cases["ones_row"].tolerance is not None
    assert frozen.cases["row_alone"].tolerance is not None
    assert frozen.cases["x_matters"].tolerance is None
    assert frozen.cases["x_matters"].noise is not None
    assert frozen.cases["x_kept"] == Measured(inputs=frozen.cases["x_kept"].inputs)
    assert {"drawn_01", "drawn_02", "drawn_03"} <= frozen.cases.keys()


def test_freezing_twice_gives_the_same_file(tmp_path: Path, frozen: Frozen) -> None:
    write_exercise(tmp_path)
    assert freeze_exercise(tmp_path).dumps() == frozen.dumps()


def test_noise_is_measured_over_every_call_of_a_relation(tmp_path: Path) -> None:
    # The second call alone is noisy: its x has two rows.
    text = ROUNDING + (
        "\n\ndef second(arguments, dtype):\n"
        "    answer = plain(arguments, 'float64')\n"
        "    return answer + (1e-4 * np.abs(answer).max() if len(answer) == 2 else 0)\n\n\n"
        'RUNS["second"] = second\n'
    )
    write_exercise(tmp_path, rounding=text)
    found = freeze_exercise(tmp_path).cases["row_alone"]
    assert found.noise == pytest.approx(1e-4, rel=0.11)
    assert found.run is not None
    assert found.run.startswith("second")


def test_noise_is_relative_to_the_largest_value_of_the_answer() -> None:
    class Fixed(HonestRuns):
        def __init__(self, off: float) -> None:
            self.runs = {"fixed": lambda call, dtype: call[0] + np.array([off, 0.0])}
            self.fragile = frozenset()
            self.form = Form(shape=["N"])

    answer = np.array([1.0, -200.0])
    noise = Fixed(2.0).measure([answer], Answer(answer))
    assert noise.float32 == noise.float64 == pytest.approx(0.01)
    zero = np.zeros(2)
    assert Fixed(0.5).measure([zero], Answer(zero)).float32 == 0.5
