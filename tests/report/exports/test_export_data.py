"""Tables for people who work with data, and pass@k against its definition."""

from __future__ import annotations

import builtins
import csv
import io
import itertools
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import comb, isclose
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from people import handed_in, rows
from samples import failing, grader_fault, hostile, passing

from grader.errors import GraderError, ToolMissingError
from grader.people import Person
from grader.report.exports import ExportOptions, export
from grader.report.exports.base import members_of
from grader.report.exports.pass_at_k import pass_at_k, table
from grader.report.tables import members
from grader.report.texts import csv_cell
from grader.result import Result

# --- CSV ------------------------------------------------------------------------------------------


def test_a_row_a_member_and_a_column_a_case(tmp_path: Path) -> None:
    group = handed_in("g", Person("Ada", "007", "ada@uni.example"), Person("Max", "008"), late=True)
    fault = handed_in("f", Person("Zoe"), score=None)
    options = ExportOptions(missing=(Person("Emmy", "011"),))
    (path,) = export("csv", [group, fault, passing()], tmp_path, options).paths
    head, *table_rows = rows(path)
    assert head[:7] == ["id", "name", "student_id", "email", "status", "score", "max_score"]
    assert head[7:10] == ["late", "submitted_at", "attempts"]
    assert head[10:] == [f"case.{case.id}" for case in passing().cases]
    found = {row[1]: dict(zip(head, row, strict=True)) for row in table_rows}
    assert found["Ada"]["student_id"] == "007" and found["Max"]["score"] == "12.5"
    assert found["Ada"]["late"] == "yes" and found["Zoe"]["late"] == ""
    assert found["Zoe"]["score"] == "" and found["Zoe"]["case.no_blocks"] == ""
    assert found["Emmy"]["status"] == "not_submitted" and found["Emmy"]["score"] == ""
    assert found["Ada Lovelace"]["case.two_heads"] == "1.5"


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_no_cell_is_a_formula(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("csv")
    one = handed_in("a", Person(text, text, text, "5"), layout="canvas", submitted_at=text)
    bare = replace(one, cases=tuple(replace(case, id=f"{text}{at}") for at, case in enumerate(one.cases)))
    options = ExportOptions(assignment=text.strip(), missing=(Person(text, text, text, "6"),))
    for name in ("csv", "canvas", "moodle", "brightspace", "pass-at-k"):
        layout = "moodle" if name == "moodle" else "canvas"
        record = replace(bare, submission=replace(bare.submission, layout=layout))
        for path in export(name, [record], folder / name, options).paths:
            if path.suffix != ".csv":
                continue
            for row in rows(path):
                for cell in row:
                    # The minus alone is what Moodle itself writes where there is no date.
                    assert cell == "-" or csv_cell(cell) == cell
                    assert "\0" not in cell


@given(st.lists(st.sampled_from("ab"), max_size=4), st.lists(st.sampled_from("abc"), max_size=4))
def test_whatever_two_sources_say_of_a_group_nobody_is_left_out(names: list[str], people: list[str]) -> None:
    known = tuple(Person(name, f"{at:03}") for at, name in enumerate(people))
    info = replace(passing().submission, members=tuple(names), people=known)
    found = [member.person for member in members_of(replace(passing(), submission=info))]
    assert sorted(p.id for p in found if p.id) == [p.id for p in known]
    if len(known) == len(names):
        # Then they are the same, and who tells of them may write a name in another way.
        assert found == list(known) or not names
    else:
        assert not Counter(names) - Counter(p.name for p in found)
    assert len(found) <= max(1, len(names) + len(people))
    assert found == members(info)


# --- JSON Lines -----------------------------------------------------------------------------------


def test_records_as_they_are_and_flat_rows(tmp_path: Path) -> None:
    records = [passing(), failing(), grader_fault(), hostile()]
    (path,) = export("jsonl", records, tmp_path).paths
    lines = path.read_text("utf-8").split("\n")
    assert [Result.from_dict(json.loads(line)).status for line in lines[:-1]] == [r.status for r in records]
    (path,) = export("jsonl", records, tmp_path, ExportOptions(flat=True)).paths
    flat = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    assert len(flat) == sum(len(record.cases) for record in records)
    assert not any(isinstance(value, dict | list) for row in flat for value in row.values())
    assert {row["points"] for row in flat if row["status"] == "grader_fault"} == {None}


# --- Parquet --------------------------------------------------------------------------------------


def test_parquet_has_typed_columns_and_every_row(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [passing(), failing(), grader_fault(), hostile()] * 300
    submissions, cases = map(parquet.read_table, export("parquet", records, tmp_path).paths)
    assert submissions.num_rows == len(records)
    assert cases.num_rows == sum(len(record.cases) for record in records)
    types = {field.name: str(field.type) for field in submissions.schema}
    assert types["score"] == "double" and types["late"] == "bool" and types["members"].startswith("list")
    assert {str(f.type) for f in cases.schema} == {"string", "bool", "double"}
    assert submissions.column("score")[2].as_py() is None
    assert submissions.column("score")[1].as_py() == failing().score
    # What is empty has its columns all the same.
    empty = export("parquet", [], tmp_path / "empty").paths
    assert parquet.read_table(empty[0]).schema == submissions.schema


def test_without_pyarrow_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ToolMissingError, match=r"pyarrow: pip install 'mlm-grader\[parquet\]'"):
        export("parquet", [passing()], tmp_path)
    assert export("csv", [passing()], tmp_path).paths


# --- pass@k ---------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.data())
def test_it_is_the_formula_to_the_last_digit(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, 70))
    found = pass_at_k(n, c, k)
    if k > n:
        assert found is None
        return
    assert found == float(1 - Fraction(comb(n - c, k), comb(n, k)))


def test_it_is_the_share_of_all_draws_in_which_one_is_right() -> None:
    for n in range(1, 8):
        for c, k in itertools.product(range(n + 1), range(1, n + 1)):
            draws = [min(draw) < c for draw in itertools.combinations(range(n), k)]
            assert pass_at_k(n, c, k) == sum(draws) / len(draws)


def test_it_is_unbiased() -> None:
    # Over all outcomes of n samples that are right with chance p, the mean is what k fresh samples have.
    n, p = 12, 0.3
    for k in (1, 5, 12):
        mean = sum(comb(n, c) * p**c * (1 - p) ** (n - c) * (pass_at_k(n, c, k) or 0.0) for c in range(n + 1))
        assert isclose(mean, 1 - (1 - p) ** k, rel_tol=1e-12)


def test_nothing_overflows_and_the_ends_are_exact() -> None:
    assert pass_at_k(100_000, 1, 50_000) == pytest.approx(0.5)
    assert pass_at_k(10, 10, 1) == 1.0 and pass_at_k(10, 0, 10) == 0.0 and pass_at_k(5, 1, 5) == 1.0
    for n, c, k in ((1, 2, 1), (1, -1, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="expected 0 <= c <= n"):
            pass_at_k(n, c, k)


def sample(task: str, record: Result) -> Result:
    return replace(record, submission=replace(record.submission, task=task))


SAMPLES = [
    *(sample("t1", passing()) for _ in range(2)),
    *(sample("t1", failing()) for _ in range(3)),
    sample("t1", grader_fault()),
    *(sample("=t2", failing()) for _ in range(4)),
]


def test_faults_are_counted_apart_and_a_k_beyond_n_is_told(tmp_path: Path) -> None:
    done = export("pass-at-k", SAMPLES, tmp_path)
    found = json.loads(done.paths[0].read_text())
    first, second = found["tasks"]
    assert (first["n"], first["c"], first["faults"]) == (5, 2, 1)
    assert first["pass_at"] == {"1": pytest.approx(0.4), "5": 1.0, "10": None}
    assert second["pass_at"]["5"] is None
    assert found["pass_at"]["1"] == {"mean": pytest.approx(0.2), "tasks": 2, "too_few_samples": []}
    assert found["pass_at"]["5"] == {"mean": 1.0, "tasks": 1, "too_few_samples": ["=t2"]}
    assert found["pass_at"]["10"]["mean"] is None and found["pass_at"]["10"]["tasks"] == 0
    told = "\n".join(done.warnings)
    assert "pass@5: 1 task has fewer than 5" in told and "1 sample is left out" in told
    assert "pass@10: 2 tasks have fewer than 10" in told
    assert done.text.splitlines() == [
        "pass@1: 0.2000 (2 tasks)",
        "pass@5: 1.0000 (1 task)",
        "pass@10: none (0 tasks)",
        f"2 files: {tmp_path / 'pass_at_k.json'}, {tmp_path / 'pass_at_k.csv'}",
    ]
    head, *tasks = csv.reader(io.StringIO(done.paths[1].read_text()))
    assert head == ["task", "n", "c", "faults", "pass@1", "pass@5", "pass@10"]
    assert tasks == [
        ["t1", "5", "2", "1", repr(first["pass_at"]["1"]), "1.0", ""],
        ["'=t2", *"400", "0.0", "", ""],
    ]


def test_a_class_of_students_is_told_that_it_is_no_model(tmp_path: Path) -> None:
    students = [passing(), failing(), failing()]
    (told,) = export("pass-at-k", students, tmp_path, ExportOptions(ks=(1,))).warnings
    assert told.startswith(
        "3 submissions name no task and are taken for samples of one; pass@k is for a language"
    )
    (told,) = export("pass-at-k", [*SAMPLES[:5], passing()], tmp_path, ExportOptions(ks=(1,))).warnings
    assert told.startswith("1 of 6 submissions names no task and is taken")
    assert export("pass-at-k", SAMPLES[:5], tmp_path, ExportOptions(ks=(1,))).warnings == ()


def test_a_k_below_1_is_refused_and_none_is_too() -> None:
    for ks in ((0, 1), ()):
        with pytest.raises(GraderError, match="pass@k needs"):
            table(SAMPLES, ks)
