"""Which lines of a submission's text a record holds."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from grader.excerpt import AROUND, MAX_CHARACTERS, MAX_LINE, MAX_LINES, SourceLine, around, excerpt
from grader.result import CaseResult, Isolation, PolicyResult, Result, SubmissionInfo, Violation

TEXT = "\n".join(f"line {n}" for n in range(1, 31))


def numbers(lines: tuple[SourceLine, ...]) -> list[int]:
    return [line.number for line in lines]


def test_a_line_comes_with_those_around_it() -> None:
    assert numbers(excerpt(TEXT, [10])) == [8, 9, 10, 11, 12]
    assert numbers(excerpt(TEXT, [1, 30])) == [1, 2, 3, 28, 29, 30]
    assert excerpt(TEXT, [10])[2].text == "line 10"
    assert excerpt(TEXT, []) == excerpt("", [3]) == ()
    assert excerpt(TEXT, [0, -3, 99]) == ()


def test_lines_are_counted_as_python_counts_them() -> None:
    assert excerpt("a\r\nb\rc\x0cd\u2028e", [3])[2] == SourceLine(3, "c\x0cd\u2028e")


def test_what_comes_first_finds_room_first() -> None:
    long = "\n".join(f"{n} " + "x" * 500 for n in range(1, 2_001))
    wanted = list(range(2_000, 0, -5))
    kept = excerpt(long, wanted)
    assert set(numbers(kept)) == set(wanted[: len(kept)])
    assert all(len(line.text) == MAX_LINE and line.text.endswith("…") for line in kept)


@given(st.text(max_size=400), st.lists(st.integers(-5, 60), max_size=40))
def test_an_excerpt_is_small_in_order_and_near_what_is_wanted(text: str, wanted: list[int]) -> None:
    found = excerpt(text, wanted)
    assert len(found) <= MAX_LINES and sum(len(line.text) for line in found) <= MAX_CHARACTERS
    assert numbers(found) == sorted(set(numbers(found)))
    assert all(any(abs(n - w) <= AROUND for w in wanted) for n in numbers(found))


def record() -> Result:
    def finding(line: int) -> Violation:
        return Violation("softmax", "torch.softmax", line, 1, "static", "It is used.")

    raised = CaseResult("c", "g", "", "k", "public", "raised", 0.0, 1.0)
    return Result(
        exercise={"name": "e", "clauses": {"k": "K"}},
        submission=SubmissionInfo("s", "S", ("s",), "s.py", "sha256:1"),
        status="failed",
        score=0.0,
        max_score=1.0,
        message="",
        isolation=Isolation("none", ()),
        policy=PolicyResult("violated", (finding(10),), (finding(13), finding(25))),
        cases=(replace(raised, details={"traceback": [[3, "f"], [5, "g"]]}),),
        excerpt=tuple(SourceLine(n, f"line {n}") for n in (3, 5, *range(8, 16), 24, 25, 26)),
    )


def test_a_student_gets_no_line_that_only_suspicions_refer_to() -> None:
    kept = set(numbers(record().for_student().excerpt))
    assert kept == set(numbers(record().excerpt)) & around([3, 5, 10])
    assert 10 in kept and 12 in kept and not kept & {13, 14, 15, 24, 25, 26}
    clean = replace(record(), policy=PolicyResult())
    assert clean.for_student().excerpt == clean.excerpt


def test_an_excerpt_is_kept_in_json_and_older_records_have_none() -> None:
    data = json.loads(record().to_json())
    assert data["excerpt"][:2] == [[3, "line 3"], [5, "line 5"]]
    assert Result.from_dict(data) == record()
    for key in ("excerpt", "loading", "demands"):
        del data[key]
    old = Result.from_dict(data)
    assert (old.excerpt, old.loading, old.demands) == ((), {}, {})
