"""An exercise with everything that is no single array: several calls, a class, a driver, exceptions, chance.

It stands in ``tests/exercises/root`` and goes through the command line as an author's and a student's.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import grader
from grader.errors import GraderError
from grader.exercise.cached import cached_pack
from grader.exercise.source import load
from grader.judge.details import snippet

ROOT = Path(__file__).parent / "root"
NAME = "urn"


def run(
    *arguments: str | Path, cwd: Path | None = None, root: Path = ROOT, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "GRADER_ROOT"} | {"GRADER_ROOT": str(root)}
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd or ROOT, capture_output=True, text=True, env=environment, check=False, input=typed
    )


def checked(path: Path) -> dict[str, Any]:
    done = run("check", path, "--exercise", NAME, "--json")
    (record,) = json.loads(done.stdout)
    assert isinstance(record, dict)
    return record


def submission(folder: Path, old: str, new: str, of: str = "right_vectorized") -> Path:
    """A worked submission with one change."""
    text = (ROOT / "submissions" / NAME / f"{of}.py").read_text("utf-8")
    assert old in text
    path = folder / "solution.py"
    path.write_text(text.replace(old, new), "utf-8")
    return path


def verdicts(record: dict[str, Any]) -> dict[str, str]:
    return {case["id"]: case["verdict"] for case in record["cases"] if case["verdict"] != "passed"}


@pytest.mark.slow
def test_it_is_sound() -> None:
    done = run("validate", NAME, "--json")
    found = json.loads(done.stdout)
    assert found["weaknesses"] == [], done.stderr
    assert done.returncode == 0
    assert {test["case"] for test in found["statistics"]} == {"at_the_rate", "evenly"}
    assert sum(test["level"] for test in found["statistics"]) == pytest.approx(1e-9)
    assert all(test["power"] >= 0.999 for test in found["statistics"])


@pytest.mark.parametrize("name", ["right_vectorized", "right_loops", "right_torch_numbers"])
def test_right_ones_pass(name: str) -> None:
    record = checked(ROOT / "submissions" / NAME / f"{name}.py")
    assert (record["status"], verdicts(record)) == ("passed", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ('label + "!"', "label", {"small": "wrong_value", "other": "wrong_value"}),
        ("float(sums.mean())", "str(sums.mean())", {"small": "wrong_type"}),
        ("float(sums.mean())", "int(sums.mean())", {"small": "wrong_value"}),
        ('"sums": sums', '"sums": sums[:1]', {"small": "wrong_shape"}),
        ('"sums": sums', '"sums": list(sums)', {"small": "wrong_type"}),
        ('"label": label + "!",', "", {"small": "wrong_type"}),
        ("n: [best, n + 1]", "str(n): [best, n + 1]", {"small": "wrong_type"}),
        ("n: [best, n + 1]", "n: [best, n]", {"small": "wrong_value"}),
        ("n: [best, n + 1]", "n: [best]", {"small": "wrong_value"}),
        ("n: [best, n + 1]", "n: (best, n + 1)", {"small": "wrong_type"}),
        ('"label": label +', '"label": (names.append(1) or label) +', {"names_kept": "input_mutated"}),
        ("    sums = ", '    weights["c"] = 1\n    sums = ', {"weights_kept": "input_mutated"}),
        ("    sums = ", '    weights["b"] += 1e-9\n    sums = ', {"weights_kept": "input_mutated"}),
        ("raise ValueError", "raise KeyError", {"bad_rate": "raised"}),
        ('f"the rate is {rate}"', '"bad"', {"bad_rate": "raised"}),
        ("if not 0 < rate < 1:", "if rate < 0:", {"bad_rate": "wrong_type"}),
        ("< self.rate", "< 0.2", {"at_the_rate": "relation_violated"}),
        (
            "rng.random(ids.shape)",
            "np.random.default_rng().random(ids.shape)",
            {"same_seed": "not_repeatable"},
        ),
        ("ids[chosen]", "ids[chosen][::-1]", {"values_are_chosen": "relation_violated"}),
    ],
)
def test_a_slip_fails_the_case_that_asks_for_it(
    tmp_path: Path, old: str, new: str, failing: dict[str, str]
) -> None:
    record = checked(submission(tmp_path, old, new))
    found = verdicts(record)
    assert found.items() >= failing.items(), found


def test_one_of_two_names_is_worth_its_part(tmp_path: Path) -> None:
    record = checked(submission(tmp_path, "class Urn", "class Vase"))
    failing = verdicts(record)
    assert record["status"] == "failed" and record["score"] > 0
    assert failing["bad_rate"] == "raised" and "small" not in failing
    message = next(case["message"] for case in record["cases"] if case["id"] == "values_are_chosen")
    assert "Urn" in message


def test_none_of_the_names_is_not_loadable(tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    path.write_text("def total(): ...\n")
    record = checked(path)
    assert record["status"] == "not_loadable"
    assert "Urn, nor totals" in record["message"]


def test_a_mistake_is_told_by_what_fails(tmp_path: Path) -> None:
    record = checked(submission(tmp_path, "< self.rate", "> self.rate"))
    (found,) = (one for one in record["diagnoses"] if one["ids"] == ["chosen_above"])
    assert found["told_by"] == "checks"
    assert "What fails is what fails with this mistake" in record["message"]


def test_a_mistake_of_values_is_told_by_them(tmp_path: Path) -> None:
    record = checked(submission(tmp_path, 'weights["a"] @ weights["b"]', 'weights["a"].sum(axis=1)'))
    assert record["diagnoses"][0]["ids"] == ["not_weighted"]
    assert record["diagnoses"][0]["told_by"] == "values"


def test_hidden_cases_tell_a_student_nothing(tmp_path: Path) -> None:
    record = checked(submission(tmp_path, '"sums": sums', '"sums": 2 * sums'))
    hidden = [case for case in record["cases"] if case["visibility"] == "hidden"]
    assert hidden and not any(case.get("details") for case in hidden)


def test_the_driver_holds_what_the_child_gets_and_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    path.write_text(
        "import sys\n"
        "class Urn:\n"
        "    def __init__(self, rate):\n"
        "        print(sorted(sys._getframe(1).f_globals))\n"
        "        raise ValueError(f'the rate is {rate}')\n"
        "def totals(weights, names, label):\n    raise ValueError\n"
    )
    record = checked(path)
    assert "draws" in record["output"]["stdout"]
    assert "expected" not in record["output"]["stdout"]


@pytest.mark.slow
def test_the_student_checks_with_what_is_released(tmp_path: Path) -> None:
    done = run("release", NAME, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    starter = tmp_path / "out" / f"{NAME}.py"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (f"{NAME}.py", f"{NAME}.pack"):
        shutil.copy(starter.with_name(name), elsewhere)
    environment = {k: v for k, v in os.environ.items() if k != "GRADER_ROOT"}
    command = [sys.executable, "-m", "grader", "check", f"{NAME}.py", "--exercise", f"{NAME}.pack", "--json"]
    found = subprocess.run(
        command, cwd=elsewhere, capture_output=True, text=True, env=environment, check=False
    )
    (record,) = json.loads(found.stdout)
    assert record["score"] == 0 and record["status"] == "failed"


def test_the_reference_is_shown_at_work() -> None:
    done = run("demo", NAME)
    assert done.returncode == 0 and "answer['mean']" in done.stdout


@pytest.mark.slow
def test_every_case_is_explained() -> None:
    for name, said in (
        ("bad_rate", "The call must end in the exception ValueError"),
        ("values_are_chosen", "The values are the chosen ids"),
        ("at_the_rate", "12 calls"),
        ("small", "expected"),
    ):
        done = run("explain", name, "--exercise", NAME)
        assert said in " ".join(done.stdout.split()), done.stdout + done.stderr


def test_a_live_module_is_checked() -> None:
    name = "urn_module_of_a_test"
    spec = importlib.util.spec_from_file_location(name, ROOT / "submissions" / NAME / "wrong_above.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = grader.check(module, exercise=NAME, root=ROOT)
    assert "At the rate" in str(found) or "at_the_rate" in str(found)
    with pytest.raises(GraderError, match="give the module that defines them"):
        grader.check(module.totals, exercise=NAME, root=ROOT)


def test_a_message_that_lacks_a_value_is_told_as_such(tmp_path: Path) -> None:
    record = checked(submission(tmp_path, 'f"the rate is {rate}"', '"bad value"'))
    assert verdicts(record) == {"bad_rate": "raised"}
    told = {diagnosis["title"] for diagnosis in record["diagnoses"]}
    assert told == {"The message of the exception lacks something"}


def test_a_hint_about_an_exception_stays_where_much_else_gives_no_answer(tmp_path: Path) -> None:
    """Hints of values lead astray where nothing is returned; that of an exception is about just that."""
    path = submission(tmp_path, "if not 0 < rate < 1:", "if rate < 0:")
    path.write_text(f"{path.read_text('utf-8')}\ntotals = Urn.draw = lambda *arguments: 'no'\n", "utf-8")
    record = checked(path)
    assert {case["clause"] for case in record["cases"] if case["verdict"] != "passed"} >= {"sums", "errors"}
    assert {c["id"]: c["hint"] for c in record["cases"]}["bad_rate"] == "1.5 is no probability."


# --- a call that the driver makes, beside a submission ------------------------------------------------


@pytest.mark.parametrize("name", ["solution.py", "my solution.py"])
def test_a_snippet_of_a_driven_call_makes_it_by_the_driver(tmp_path: Path, name: str) -> None:
    text = (ROOT / "submissions" / NAME / "right_vectorized.py").read_text("utf-8")
    (tmp_path / name).write_text(text, "utf-8")
    found = run("check", name, "--exercise", NAME, "--case", "values_are_chosen", "--snippet", cwd=tmp_path)
    assert "def draws(submission, rate, ids, rng):" in found.stdout, found.stderr
    (tmp_path / "try_it.py").write_text(found.stdout, "utf-8")
    done = subprocess.run(
        [sys.executable, "try_it.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("{'chosen': array("), done.stderr


def test_a_snippet_of_a_driven_call_is_a_cell_of_a_notebook(tmp_path: Path) -> None:
    """A driver's function may have the name of one that it calls."""
    pack = cached_pack(ROOT, NAME)
    case = next(case for case in pack.cases if case.id == "values_are_chosen")
    text = (ROOT / "submissions" / NAME / "right_vectorized.py").read_text("utf-8")
    cells: dict[str, Any] = {"__name__": "__main__"}
    exec(text, cells)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(snippet(pack, case, "solution.ipynb"), cells)
    assert told.getvalue().startswith("{'chosen': array(")


def test_debug_stops_in_what_the_driver_calls(tmp_path: Path) -> None:
    text = (ROOT / "submissions" / NAME / "right_vectorized.py").read_text("utf-8")
    (tmp_path / "solution.py").write_text(text, "utf-8")
    done = run(
        *("check", "solution.py", "--exercise", NAME, "--case", "values_are_chosen", "--debug"),
        cwd=tmp_path,
        typed="w\nb Urn.draw\nc\nw\nc\n",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "__init__()" in done.stdout and "draw()" in done.stdout
    assert "values_are_chosen holds" in done.stdout
    assert "rehearsal" not in done.stdout and "draws()" not in done.stdout, "only frames of the student's"


# --- an author's slip --------------------------------------------------------------------------------


@pytest.mark.parametrize(("claim", "refused"), [("label == 'x'", True), ("answer.label == 'x'", False)])
def test_a_claim_names_no_argument_that_is_an_item_of_the_answer_too(
    tmp_path: Path, claim: str, refused: bool
) -> None:
    """It would be about the argument, and hold of every answer."""
    shutil.copytree(ROOT / "cases" / NAME, tmp_path / "cases" / NAME)
    added = f"""
- id: slip
  clause: sums
  points: 1
  dims: {{N: 2, K: 3}}
  check: {{holds: [{{claim: "{claim}", says: The label is x.}}]}}
"""
    with (tmp_path / "cases" / NAME / "basics.yaml").open("a") as file:
        file.write(added)
    if not refused:
        load(tmp_path / "cases" / NAME)
        return
    with pytest.raises(GraderError, match=r"an argument and an item of the answer; write answer\.label"):
        load(tmp_path / "cases" / NAME)
