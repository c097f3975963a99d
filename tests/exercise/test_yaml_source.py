"""YAML is read as plain data with lines; its traps and attacks are refused with file, line and key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import ExerciseError
from grader.exercise import yaml_source
from grader.exercise.yaml_source import MAX_BYTES, load, parse, show_path


def data(text: str) -> Any:
    return parse(text, "f.yaml").data


def refused(text: str) -> str:
    with pytest.raises(ExerciseError) as caught:
        parse(text, "f.yaml")
    assert len(caught.value.problems) == 1
    return str(caught.value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


class Unshared(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


Unshared.add_representer(str, lambda d, text: d.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(plain)
def test_what_a_yaml_writer_writes_is_read_back(value: Any) -> None:
    text = yaml.dump(value, Dumper=Unshared, allow_unicode=True, sort_keys=False)
    if '"<<"' in text:
        return
    found = data(text)
    assert found == value
    assert repr(found) == repr(value), "the types are the same too"


@given(st.text(max_size=60))
def test_any_text_at_all_is_data_or_one_clear_fault(text: str) -> None:
    try:
        found = data(text)
    except ExerciseError as error:
        assert str(error).startswith("f.yaml")
    else:
        assert isinstance(found, str | int | float | bool | list | dict | None)


@given(st.binary(max_size=60))
def test_any_bytes_at_all_are_data_or_one_clear_fault(tmp_path_factory: Any, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(raw)
    try:
        load(path, "any.yaml")
    except ExerciseError as error:
        assert str(error).startswith("any.yaml")


def test_every_key_and_item_has_its_line() -> None:
    document = parse(
        "# a comment\n- id: a\n  dims: {N: 1,\n    D: 2}\n\n- id: b\n  list:\n  - x\n  - y: 1\n", "f.yaml"
    )
    lines = {show_path(path): line for path, line in document.lines.items()}
    assert lines == {
        "": 2,
        "[0]": 2,
        "[0].id": 2,
        "[0].dims": 3,
        "[0].dims.N": 3,
        "[0].dims.D": 4,
        "[1]": 6,
        "[1].id": 6,
        "[1].list": 7,
        "[1].list[0]": 8,
        "[1].list[1]": 9,
        "[1].list[1].y": 9,
    }
    assert document.line((1, "list", 1, "missing", 3)) == 9, "the nearest key around it"
    assert document.line((7,)) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1e6", 1e6),
        ("-1E+3", -1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("1_000", 1000),
        ("-7", -7),
        ("+7", 7),
        ("0", 0),
        ("0x1F", 31),
        ("0.5", 0.5),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("True", True),
        ("false", False),
        ("TRUE", "TRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ('"007"', "007"),
        ("'true'", "true"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:45", "12:30:45"),
        ("1.2.3", "1.2.3"),
        ("e5", "e5"),
        ("D % num_heads == 0", "D % num_heads == 0"),
        ("|\n   1\n", "1\n"),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, value: Any) -> None:
    found = data(f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


def test_nan_is_read() -> None:
    assert math.isnan(data("a: .nan")["a"])


def test_keys_are_text_whatever_they_look_like() -> None:
    assert data("{yes: 1, N: 2, 3: 4, null: 5}") == {"yes": 1, "N": 2, "3": 4, "null": 5}


@pytest.mark.parametrize("number", ["007", "010", "-01", "0_7", "00"])
def test_a_leading_zero_is_refused_with_what_to_write(number: str) -> None:
    said = refused(f"ok: 1\ncases:\n- seed: {number}\n")
    assert said.startswith(f"f.yaml:3: cases[0].seed: is {number}, which some YAML readers take for octal;")
    assert "without the leading zero, or in quotes" in said


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "f.yaml:4: b.c", "is given twice; the first stands in line 3"),
        ("a: !!python/object/apply:os.system [ls]", "f.yaml:1: a", "uses the tag"),
        ("a: 1\nb: !!int '3'", "f.yaml:2: b", "uses the tag"),
        ("!mine a: 1", "f.yaml:1: a", "uses the tag"),
        ("- !!set {a, b}", "f.yaml:1: [0]", "uses the tag"),
        ("a: &x [1]\nb: *x", "f.yaml:1: a", "uses the anchor &x; write the value out"),
        ("&x a: 1", "f.yaml:1: a", "uses the anchor &x"),
        ("b:\n- *x", "f.yaml:2: b[0]", "uses the alias *x; write the value out"),
        ("a:\n  <<: {b: 1}", "f.yaml:2: a", "uses the merge key <<"),
        ("a: 1\n---\nb: 2", "f.yaml:2", "holds a second YAML document"),
        ("? [1, 2]\n: 3", "f.yaml:1", "has a key that is not plain text"),
        ("? *x\n: 3", "f.yaml:1", "has a key that is not plain text"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2", "or ']'; the bracket is opened in line 1"),
        ("a: [1, 2}\n", "f.yaml:1", "is not valid YAML"),
        ("a: 1\nb 2\nc: 3\n", "f.yaml:2", "could not find expected ':'"),
        ("a: 1\nb: 'x\nc: 3\n", "f.yaml:2", "found unexpected end of stream"),
        ('a: 1\nb: "x\nc: 3\n', "f.yaml:2", "found unexpected end of stream"),
        ("- a: 1\n  b: 2\n c: 3\n", "f.yaml:3", "is not valid YAML"),
        ("a: 1\n\tb: 2", "f.yaml:2", "is not valid YAML"),
        ("a: 'x", "f.yaml:1", "is not valid YAML"),
        ("a: b: c", "f.yaml:1", "is not valid YAML"),
        ("a: \x01", "f.yaml", "is not valid YAML"),
        ("a:\n  b: " + "9" * 5000, "f.yaml:2: a.b", "has 5000 digits; at most 100 are read"),
        ("x: " + "[" * 60 + "]" * 60, "f.yaml:1: x[0][0]", "is nested more than 40 levels deep"),
    ],
)
def test_what_is_refused_names_file_line_key_and_reason(text: str, where: str, what: str) -> None:
    said = refused(text)
    assert said.startswith(f"{where}: ")
    assert what in said


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000, "a:\n" * 1 + "[{" * 20_000])
def test_deep_nesting_is_refused_and_breaks_nothing(text: str) -> None:
    refused(text)


def test_forty_levels_are_read() -> None:
    value = data("[" * 40 + "1" + "]" * 40)
    for _ in range(40):
        (value,) = value
    assert value == 1


def test_an_alias_bomb_is_refused_at_its_first_line() -> None:
    bomb = "a: &a [x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )
    assert refused(bomb).startswith("f.yaml:1: a: uses the anchor")


def test_an_empty_file_is_no_data(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_bytes(b"# nothing\n")
    assert load(path).data is None
    assert load(path).line(("a",)) == 1


def test_a_byte_order_mark_and_crlf_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: \xc3\xa9\r\n")
    document = load(path)
    assert document.data == {"a": 1, "b": "é"}
    assert document.lines["b",] == 2


def test_text_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: 1\ntitle: caf\xe9\n")
    with pytest.raises(
        ExerciseError, match=r"^cases/latin\.yaml:2: is not UTF-8 text; save the file as UTF-8$"
    ):
        load(path, "cases/latin.yaml")


def test_a_file_beyond_the_size_cap_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# " + b"x" * (MAX_BYTES - 2))
    assert load(path).data is None
    path.write_bytes(b"# " + b"x" * (MAX_BYTES - 1))
    monkeypatch.setattr(yaml_source, "parse", None)
    with pytest.raises(ExerciseError, match=r"large\.yaml: has 1,048,577 bytes; at most 1,048,576 are read"):
        load(path)


def test_a_missing_file_and_a_folder_are_told_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(ExerciseError, match=r"gone\.yaml: can't be read: No such file"):
        load(tmp_path / "gone.yaml")
    with pytest.raises(ExerciseError, match="can't be read: Is a directory"):
        load(tmp_path)
