"""The pages of verdicts that are not about values, and what the failing cases have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from support.known import row_scale

from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack, PackCase
from grader.judge.explanations import PAGES, RAISING, TITLES, entry, explain
from grader.judge.submission import Context, judge
from grader.outcomes import Execution, Failure, LoadOutcome, StepOutcome
from grader.result import CaseResult, Isolation, SubmissionInfo, Verdict
from judge.answering import judged, outcomes_of

VALUES = ("passed", "wrong_value", "relation_violated", "skipped", "grader_fault")


def results(pack: Pack, failing: Callable[[PackCase], bool], verdict: Verdict = "raised") -> list[CaseResult]:
    """Every case judged; those that fail have a message of their own."""
    return [
        CaseResult(
            id=case.id,
            group=case.group,
            title=case.title,
            clause=case.clause,
            visibility=case.visibility,
            verdict=verdict if failing(case) else "passed",
            points=0.0,
            max_points=case.points,
            message=f"Message of {case.id}." if failing(case) else "",
        )
        for case in pack.cases
    ]


def message(pack: Pack, failing: Callable[[PackCase], bool]) -> str:
    (found,) = explain(pack, results(pack, failing), (), ())
    said: str = found["message"]
    return said


def test_every_verdict_that_is_not_about_values_has_a_page() -> None:
    assert set(TITLES) == set(PAGES) == (set(get_args(Verdict)) - set(VALUES)) | {"not_loadable"}


@pytest.mark.parametrize("name", [*TITLES, *RAISING])
def test_a_page_says_what_it_is_why_and_what_to_do(name: str) -> None:
    page = PAGES.get(name) or RAISING[name]
    assert page.what and page.why and page.instead
    for f in fields(page):
        text = getattr(page, f.name)
        assert text == text.strip() and "\t" not in text


def test_an_entry_has_the_form_of_a_diagnosis() -> None:
    made = entry("raised", "scale", "It raised.")
    assert made["ids"] == ["raised"] and (made["fits"], made["of"]) == (0, 0)
    assert made["told_by"] == "verdict"
    assert (made["title"], made["clause"], made["message"]) == (TITLES["raised"], "scale", "It raised.")
    assert made["pages"] == [
        {"id": "raised", "title": TITLES["raised"], "clause": "scale", **vars(PAGES["raised"])}
    ]


def test_what_passes_or_is_about_values_needs_no_page(stepped: Pack) -> None:
    for verdict in VALUES:
        assert explain(stepped, results(stepped, lambda c: True, verdict), (), ()) == []  # type: ignore[arg-type]


def test_what_a_known_mistake_explains_needs_no_page(stepped: Pack) -> None:
    cases = results(stepped, lambda c: c.id == "large_rows")
    assert [e["ids"] for e in explain(stepped, cases, (), ())] == [["raised"]]
    assert explain(stepped, cases, {"raised", "crashed"}, ()) == []
    left = explain(stepped, cases, {"raised"}, {"large_rows"})
    assert [e["message"].partition(" Of")[0] for e in left] == ["Message of large_rows."], (
        "what it leaves open does"
    )


def test_several_verdicts_have_their_pages_in_a_fixed_order(stepped: Pack) -> None:
    cases = results(stepped, lambda c: c.id == "row_alone", "wrong_shape")
    cases[0] = results(stepped, lambda c: True, "crashed")[0]
    cases[-1] = results(stepped, lambda c: True, "raised")[-1]
    assert [e["ids"][0] for e in explain(stepped, cases, (), ())] == ["raised", "crashed", "wrong_shape"]


def test_the_clause_is_that_of_the_first_failing_case(stepped: Pack) -> None:
    (found,) = explain(stepped, results(stepped, lambda c: c.id in ("large_rows", "x_kept")), (), ())
    assert found["clause"] == "scale"


# --- what they have in common -----------------------------------------------------------------

COMMON: dict[str, Callable[[PackCase], bool]] = {
    "where N is 0": lambda c: c.dims["N"] == 0,
    "where N is 1": lambda c: c.dims["N"] == 1,
    "where D is 3": lambda c: c.dims["D"] == 3,
    "where N is above 1": lambda c: c.dims["N"] > 1,
    "where factor is above 1": lambda c: c.dims["factor"] > 1,
    "where arrays are read-only": lambda c: c.id == "locked",
    "where arrays do not lie row by row in memory": lambda c: c.id == "large_rows",
}


@pytest.mark.parametrize("words", COMMON)
def test_what_the_failing_cases_have_in_common_is_said(stepped: Pack, words: str) -> None:
    public = [c for c in stepped.cases if c.visibility == "public"]
    failing = {c.id for c in public if COMMON[words](c)}
    assert 0 < len(failing) < len(public)
    said = message(stepped, lambda c: c.id in failing)
    first = next(c.id for c in public if c.id in failing)
    begin = f"Message of {first}. Of the visible checks, it happens only "
    assert said.startswith(f"{begin}where ") and said.endswith(".")
    found = said.removeprefix(begin).removesuffix(".")
    # Other words may say the same of these cases; they have to be true of them and of no others.
    assert {c.id for c in public if COMMON.get(found, COMMON[words])(c)} == failing


def test_two_cases_with_nothing_of_their_own_have_nothing_in_common(stepped: Pack) -> None:
    assert message(stepped, lambda c: c.id in ("ones_row", "x_kept")) == "Message of ones_row."


def test_where_all_fail_there_is_nothing_to_tell_them_by(stepped: Pack) -> None:
    assert message(stepped, lambda c: True) == "Message of ones_row."


def test_what_tells_one_call_from_another_tells_nothing() -> None:
    """All that call one function fail, and those of another have no such argument."""
    root = Path(__file__).resolve().parents[1] / "exercises" / "root"
    pack = cached_pack(root, "urn")
    assert message(pack, lambda case: case.call == "draws").startswith("Message of ")
    assert "happens only" not in message(pack, lambda case: case.call == "draws")


def test_hidden_cases_tell_nothing(stepped: Pack) -> None:
    assert message(stepped, lambda c: c.visibility == "hidden") == "Only hidden checks show it."
    both = message(stepped, lambda c: c.visibility == "hidden" or c.dims["N"] == 0)
    assert both == "Message of no_rows. Of the visible checks, it happens only where N is 0."


def test_cases_that_were_not_judged_do_not_count(stepped: Pack) -> None:
    cases = results(stepped, lambda c: c.id == "no_rows")
    skipped = [c if c.id in ("no_rows", "ones_row") else results_skipped(c) for c in cases]
    (found,) = explain(stepped, skipped, (), ())
    assert found["message"] == "Message of no_rows. Of the visible checks, it happens only where D is 2."


def results_skipped(case: CaseResult) -> CaseResult:
    from dataclasses import replace

    return replace(case, verdict="skipped")


def test_a_dtype_may_be_what_they_have_in_common(tmp_path_factory: pytest.TempPathFactory) -> None:
    from support.small import small_pack

    single = {"arrays": {"x": {"dtype": "float32"}}, "dims": {"N": 3, "D": 4, "K": 2, "factor": 1}}
    like = {"id": "like", "clause": "scale", "points": 1, "dims": single["dims"]}
    pack = small_pack(
        tmp_path_factory.mktemp("single"),
        more=[like, like | single | {"id": "single"}],
        change={"large_rows": None},
    )
    said = message(pack, lambda c: c.id == "single")
    assert said == "Message of single. Of the visible checks, it happens only where x has the dtype f4."


# --- in a record ------------------------------------------------------------------------------


def raising(steps: Sequence[StepOutcome]) -> list[StepOutcome]:
    failure = Failure("IndexError", "out of bounds", ("LookupError",), ((3, "row_scale"),))
    return [
        StepOutcome("raised", failure=failure) if getattr(s.value, "shape", ())[:1] == (3,) else s
        for s in steps
    ]


def test_a_record_explains_an_exception_with_where_it_happens(stepped: Pack) -> None:
    steps = {name: raising(s) for name, s in outcomes_of(stepped, row_scale).items()}
    result = judged(stepped, steps)
    (raised,) = [d for d in result.diagnoses if d["ids"] == ["raised"]]
    assert raised["message"] == (
        "It raised IndexError in line 3: out of bounds. Of the visible checks, it happens only where N is 3."
    )


def raise_exactly(kind: str, x: Any) -> Any:
    """Raises as the interpreter does."""
    if kind == "unwritten":
        raise NotImplementedError
    if kind == "recursion":
        return raise_exactly(kind, x)
    if kind == "name":
        return missing  # type: ignore[name-defined]  # noqa: F821
    if kind == "local":
        if x is None:
            total = 1
        return total
    if kind == "attribute":
        return np.sofmax(x)  # type: ignore[attr-defined]
    if kind == "import":
        import no_such_package_here  # type: ignore[import-not-found]

        return no_such_package_here
    if kind == "input":
        raise EOFError("EOF when reading a line")
    raise SystemExit(kind)


EXACT = {
    "unwritten": "not_written",
    "recursion": "endless_recursion",
    "name": "unknown_name",
    "local": "unknown_name",
    "attribute": "unknown_attribute",
    "import": "failed_import",
    "input": "waits_for_input",
    "exit": "ends_program",
}


@pytest.mark.parametrize("kind", EXACT)
def test_an_exception_that_says_all_has_a_page_of_its_own(stepped: Pack, kind: str) -> None:
    result = judged(stepped, lambda x, w, k: raise_exactly(kind, x))
    (told,) = result.diagnoses
    (page,) = told["pages"]
    assert page["what"] == RAISING[EXACT[kind]].what and page["instead"] == RAISING[EXACT[kind]].instead
    assert told["clause"] == "", "it is about no clause"
    assert result.undiagnosed == ""


def test_a_function_with_other_parameters_has_a_page_of_its_own(stepped: Pack) -> None:
    # No line of the student's ran.
    failure = Failure("TypeError", "row_scale() takes 2 positional arguments but 3 were given")
    steps = {
        name: [StepOutcome("raised", failure=failure)] * len(s)
        for name, s in outcomes_of(stepped, row_scale).items()
    }
    (told,) = judged(stepped, steps).diagnoses
    assert told["pages"][0]["what"] == RAISING["other_arguments"].what


def test_beside_what_is_not_written_yet_nothing_is_said_of_known_mistakes(stepped: Pack) -> None:
    def half_written(x: Any, w: Any, k: Any) -> Any:
        if k > 1:
            raise NotImplementedError
        return row_scale(x, w, k) * 0.9

    def half_wrong(x: Any, w: Any, k: Any) -> Any:
        return row_scale(x, w, k) * 0.9 if k == 1 else x[len(x)]

    exact, other = judged(stepped, half_written), judged(stepped, half_wrong)
    for result in (exact, other):
        assert {"raised", "wrong_value"} <= {case.verdict for case in result.cases}
    assert exact.undiagnosed == "" and other.undiagnosed.startswith("No known mistake")
    assert [d["pages"][0]["what"] for d in other.diagnoses if d["ids"] == ["raised"]] == [
        PAGES["raised"].what
    ]


def test_the_page_of_an_exception_tells_nothing_of_hidden_calls(stepped: Pack) -> None:
    steps = outcomes_of(stepped, row_scale)
    failure = Failure("NameError", "name 'secret' is not defined", (), ((3, "row_scale"),))
    steps["hidden"] = [StepOutcome("raised", failure=failure) for _ in steps["hidden"]]
    (told,) = [d for d in judged(stepped, steps).diagnoses if d["ids"] == ["raised"]]
    assert told["message"] == "Only hidden checks show it."
    assert told["pages"][0]["what"] == PAGES["raised"].what


def test_a_file_that_can_not_be_loaded_is_explained(stepped: Pack) -> None:
    context = Context(
        stepped, SubmissionInfo("a", "A", ("a",), "a.py", "sha256:1"), Isolation("none", ("process",))
    )
    load = LoadOutcome("raised", failure=Failure("ValueError", "no"))
    result = judge(context, Execution({}, load, {}))
    assert [d["ids"] for d in result.diagnoses] == [["not_loadable"]]
    assert result.diagnoses[0]["message"] == result.message
    assert (result.influence, result.counterexample) == (None, None)


@pytest.mark.parametrize(
    ("load", "report", "what"),
    [
        (None, {"syntax_error": {"line": 3, "message": "invalid syntax"}}, "The text is not valid Python"),
        (
            LoadOutcome("raised", failure=Failure("SyntaxError", "no", line=2)),
            {},
            "The text is not valid Python",
        ),
        (LoadOutcome("returned", names=("row_scal",)), {}, "The file loads, but the function"),
        (LoadOutcome("returned", found=True, type="int"), {}, "The file loads, but the function"),
        (LoadOutcome("raised", failure=Failure("ValueError", "no")), {}, "Your file raises an exception"),
        (None, {}, "Your file raises an exception"),
    ],
)
def test_why_a_file_can_not_be_loaded_has_a_page_of_its_own(
    stepped: Pack, load: LoadOutcome | None, report: dict[str, Any], what: str
) -> None:
    info = SubmissionInfo("a", "A", ("a",), "a.py", "sha256:1")
    result = judge(Context(stepped, info, Isolation("none", ("process",))), Execution(report, load, {}))
    (told,) = result.diagnoses
    assert told["ids"] == ["not_loadable"] and told["pages"][0]["what"].startswith(what)


@pytest.mark.parametrize(
    ("answer", "verdict"), [(None, "wrong_type"), ([1.0], "wrong_type"), (np.ones(3), "wrong_shape")]
)
def test_answers_of_another_form_are_explained(stepped: Pack, answer: Any, verdict: str) -> None:
    result = judged(stepped, lambda x, w, k: answer)
    assert verdict in [d["ids"][0] for d in result.diagnoses]
    assert result.undiagnosed == ""


def test_no_known_mistake_explains_an_exception_that_says_all(stepped: Pack) -> None:
    """A known mistake ends in an IndexError on an empty batch; a missing name there is another matter."""

    def ends(error: Exception) -> Any:
        def function(x: Any, w: Any, k: Any) -> Any:
            if len(x) == 0:
                raise error
            return row_scale(x, w, k)

        return [d["ids"][0] for d in judged(stepped, function).diagnoses]

    assert ends(IndexError("index 0 is out of bounds")) == ["crash_when_empty"]
    assert ends(UnboundLocalError("cannot access local variable 'row'")) == ["crash_when_empty"]
    for error in (NameError("name 'rows' is not defined"), NotImplementedError(), ImportError("no")):
        assert ends(error) == ["raised"]


def test_no_mistake_is_named_beside_what_is_not_written_yet(stepped: Pack) -> None:
    def function(x: Any, w: Any, k: Any) -> Any:
        if k == 1:
            raise NotImplementedError
        return row_scale(x, w, 1)

    result = judged(stepped, function)
    assert "wrong_value" in [case.verdict for case in result.cases] and result.undiagnosed == ""
    (raised,) = result.diagnoses
    assert raised["ids"] == ["raised"]
    assert raised["pages"][0]["what"] == RAISING["not_written"].what


def test_a_hint_of_the_clause_is_left_out_where_an_exception_says_all(stepped: Pack) -> None:
    failing = {}
    for kind, error in (("exact", NotImplementedError()), ("other", IndexError("no"))):

        def function(x: Any, w: Any, k: Any, error: Exception = error) -> Any:
            if len(x) == 1:
                raise error
            return row_scale(x, w, k)

        failing[kind] = {c.id: c.hint for c in judged(stepped, function).cases if c.verdict == "raised"}
    assert failing["other"]["ones_row"] and not any(failing["exact"].values())
    assert failing["exact"].keys() == failing["other"].keys()
