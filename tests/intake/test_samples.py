"""A language model's samples: every good line counts, every odd one is told with its number."""

from __future__ import annotations

import ast
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import samples
from grader.intake.asked import Asked
from grader.intake.layouts.attempts import Reading
from grader.intake.samples import Counts, indented, is_samples, opener, program, read_samples, unfenced

ASKED = Asked("row_scale", ("numpy", "torch"), ("x", "w", "factor"))
WHOLE = "import numpy as np\n\n\ndef row_scale(x, w, factor):\n    return x\n"
HEAD = "def row_scale(x, w, factor):\n"


def lines(*values: object) -> bytes:
    return b"".join((v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n" for v in values)


def reading(raw: bytes, counts: Counts | None = None) -> Reading:
    return read_samples(lambda: io.BytesIO(raw), "s.jsonl", ASKED, counts or Counts())


def sources(found: Reading) -> list[str]:
    return [attempt.files[0].entry.read(1 << 20).decode() for attempt in found.attempts]


def test_each_line_is_a_sample_of_its_task() -> None:
    found = reading(
        lines(
            {"task_id": "Mine/0", "solution": WHOLE},
            {"task_id": "Mine/1", "completion": "    return x\n"},
            {"task_id": "Mine/0", "solution": "x = 1\n", "model": "m"},
            {"task_id": 7, "solution": "x = 2\n", "completion": "y"},
        )
    )
    assert (found.left_out, found.problems) == ((), ())
    assert [(a.key, a.identity, a.task, a.name) for a in found.attempts] == [
        ("Mine/0#1", "Mine/0-0001", "Mine/0", "Mine/0 #1"),
        ("Mine/1#1", "Mine/1-0001", "Mine/1", "Mine/1 #1"),
        ("Mine/0#2", "Mine/0-0002", "Mine/0", "Mine/0 #2"),
        ("7#1", "7-0001", "7", "7 #1"),
    ]
    assert sources(found) == [WHOLE, HEAD + "    return x\n", "x = 1\n", "x = 2\n"]
    assert [a.files[0].entry.shown for a in found.attempts] == [f"s.jsonl:{n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "it is no JSON"),
        (b"\xff{}", "it is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"1" * 5000, "it is no JSON"),
        ([1], "expected an object with task_id and solution or completion, found a list"),
        (3, "found a number"),
        (None, "found null"),
        ({"solution": "x"}, "expected a task_id that is a text, found no task_id"),
        ({"task_id": "", "solution": "x"}, "found an empty one"),
        ({"task_id": True, "solution": "x"}, "found true or false"),
        ({"task_id": "a\ud800", "solution": "x"}, "found half of a surrogate pair in it"),
        ({"task_id": "a"}, "expected a solution or a completion that is a text, found no completion"),
        ({"task_id": "a", "solution": None}, "found no completion"),
        ({"task_id": "a", "completion": ["x"]}, "found a list"),
        ({"task_id": "a", "completion": "\udfff"}, "found half of a surrogate pair in it"),
    ],
)
def test_an_odd_line_is_told_with_its_number_and_the_rest_goes_on(line: object, said: str) -> None:
    good = {"task_id": "a", "solution": "x = 1\n"}
    found = reading(lines(good, b"", line, good))
    assert sources(found) == ["x = 1\n"] * 2
    (left,) = found.left_out
    assert (left.path, left.reason.startswith("line 3: ")) == ("s.jsonl", True)
    assert said in left.reason
    assert found.problems == ()


def test_a_line_that_is_left_out_keeps_the_number_of_its_sample() -> None:
    found = reading(lines({"task_id": "a", "solution": 1}, {"task_id": "a", "solution": "x = 1\n"}))
    assert [a.key for a in found.attempts] == ["a#2"]


def test_numbers_go_on_over_several_files() -> None:
    counts = Counts()
    one = lines({"task_id": "a", "solution": "x = 1\n"})
    keys = [a.key for _ in range(3) for a in reading(one, counts).attempts]
    assert keys == ["a#1", "a#2", "a#3"]


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"   \n"])
def test_a_file_without_samples_is_a_problem(raw: bytes) -> None:
    (problem,) = reading(raw).problems
    assert problem.startswith("s.jsonl holds no sample; expected JSON Lines")


def test_marks_and_line_ends_of_windows_are_read() -> None:
    raw = b"\xef\xbb\xbf" + lines({"task_id": "a", "solution": "x = 1\r\n"}).replace(b"\n", b"\r\n")
    assert sources(reading(raw)) == ["x = 1\n"]
    assert sources(reading(raw.rstrip())) == ["x = 1\n"]


def test_a_packed_file_is_read_and_a_cut_one_told(tmp_path: Path) -> None:
    raw = lines(*({"task_id": f"t{n}", "solution": f"x = {n}\n"} for n in range(3000)))
    packed = gzip.compress(raw)
    whole = reading(packed)
    assert sources(whole) == sources(reading(raw))
    cut = reading(packed[: len(packed) // 2])
    assert 0 < len(cut.attempts) < 3000
    assert "cut off" in cut.problems[0]
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(packed)
    assert len(read_samples(opener(path), str(path), ASKED, Counts()).attempts) == 3000
    assert "No such file" in read_samples(opener(tmp_path / "gone"), "gone", ASKED, Counts()).problems[0]
    assert is_samples("A.JSONL")
    assert not is_samples("a.json")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_is_never_whole_in_memory(pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MAX_LINE", 1000)
    raw = pack(b"x" * 3_000_000 + b"\n" + lines({"task_id": "a", "solution": "x = 1\n"}))  # type: ignore[operator]
    sizes: list[int] = []

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size >= 0
            sizes.append(size)
            return super().read(size)

    found = read_samples(lambda: File(raw), "s.jsonl", ASKED, Counts())
    assert sources(found) == ["x = 1\n"]
    assert found.left_out[0].reason == "line 1: it has more than 1,000 bytes"
    assert max(sizes) <= 1 << 16


def test_too_many_samples_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MAX_SAMPLES", 2)
    found = reading(lines(*[{"task_id": "a", "solution": "x"}] * 3))
    assert len(found.attempts) == 2
    assert found.problems == ("s.jsonl holds more than 2 samples; those from line 3 on are not read",)


# --- from what a model wrote to a program -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (WHOLE, WHOLE),
        ("async def row_scale(x):\n    return x\n", "async def row_scale(x):\n    return x\n"),
        ("row_scale = lambda x, w, f: x\n", "row_scale = lambda x, w, f: x\n"),
        ("    return x\n", HEAD + "    return x\n"),
        ("\treturn x", HEAD + "\treturn x"),
        ("\n    return x\n\n\nprint(1)\n", HEAD + "\n    return x\n\n\nprint(1)\n"),
        ("return x", HEAD + "    return x"),
        ("y = x\n    return y\n", HEAD + "    y = x\n    return y\n"),
        ("y = x\n  return y\n", HEAD + "  y = x\n  return y\n"),
        ("y = x\nreturn y\n", HEAD + "    y = x\n    return y\n"),
        ("for a in x:\n    w += a\nreturn w\n", HEAD + "    for a in x:\n        w += a\n    return w\n"),
        (
            "for a in x:\n        w += a\n    return w\n",
            HEAD + "    for a in x:\n        w += a\n    return w\n",
        ),
        ("if w:\n    return x\n", HEAD + "    if w:\n        return x\n"),
        ("", HEAD + "    pass\n"),
        ("    # def row_scale here\n    return x\n", HEAD + "    # def row_scale here\n    return x\n"),
    ],
)
def test_a_completion_is_a_program_or_the_body_after_the_signature(text: str, source: str) -> None:
    made, _ = program(text, ASKED, whole=False)
    assert made == source
    ast.parse(made)
    assert program(text.replace("\n", "\r\n"), ASKED, whole=False)[0] == source


def test_a_solution_is_never_changed() -> None:
    for text in ("    return x\n", "x = 1", "# nothing"):
        assert program(text, ASKED, whole=True) == (text, ())


def test_imports_of_the_prompt_stand_above_a_body_that_needs_them() -> None:
    made, notes = program("    return np.exp(x) + torch.zeros(1)\n", ASKED, whole=False)
    assert made == "import numpy as np\nimport torch\n" + HEAD + "    return np.exp(x) + torch.zeros(1)\n"
    assert len(notes) == 2
    own = "    import numpy as np\n    return np.exp(x)\n"
    assert program(own, ASKED, whole=False)[0] == HEAD + own
    other = "    return x.np.y + mynp.z\n"
    assert program(other, ASKED, whole=False)[0] == HEAD + other
    assert program("    return np.exp(x)\n", Asked("row_scale"), whole=False)[0].startswith(
        "def row_scale():"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"```python\n{WHOLE}```", WHOLE),
        (f"```\n{WHOLE}```\n", WHOLE),
        (f"~~~py\n{WHOLE}~~~\n", WHOLE),
        (f"Here you are:\n\n```python\n{WHOLE}```\nIt returns x.", WHOLE),
        (f"First:\n```python\nx = 1\n```\nthen\n```python\n{WHOLE}```", WHOLE),
        (f"```bash\npip install numpy\n```\n```python\n{WHOLE}```", WHOLE),
        (f"```python\n{WHOLE}", WHOLE + "\n"),
        ("```python\nx = 1\n```\n```python\ny = 2\n```", "x = 1\n\ny = 2\n"),
        ("    return x\n```\nThis returns x.", "    return x\n"),
        (f"{WHOLE}```", WHOLE),
        (f"````python\n{WHOLE}````", WHOLE),
    ],
)
def test_code_is_taken_out_of_its_fence(text: str, code: str) -> None:
    assert unfenced(text, "row_scale").rstrip("\n") == code.rstrip("\n")
    assert program(text, ASKED, whole=True)[1] == ("The code was taken out of its Markdown fence.",)


def test_a_fence_in_a_docstring_is_none() -> None:
    text = 'def row_scale(x, w, factor):\n    """Scales.\n\n```\nrow_scale(1, 2, 3)\n```\n"""\n    return x\n'
    assert unfenced(text, "row_scale") == text
    indented_fence = (
        'def row_scale(x):\n    """\n    ```python\n    def row_scale(x): ...\n    ```\n    """\n'
    )
    assert unfenced(indented_fence, "row_scale") == indented_fence


BODIES = st.lists(
    st.sampled_from(
        ["x = 1", "if x:\n    y = 2", "for a in x:\n    y = a\n    w = a", "# note", "", "return x"]
    ),
    min_size=1,
    max_size=5,
)


@given(BODIES, st.sampled_from(["  ", "    ", "\t"]))
def test_a_body_is_the_same_with_and_without_its_indentation(parts: list[str], blank: str) -> None:
    body = "\n".join([*parts, "return w"])
    expected = ast.dump(
        ast.parse(HEAD + "\n".join("    " + line if line else "" for line in body.split("\n")))
    )
    deep = "\n".join(blank + line if line else "" for line in body.split("\n"))
    assert indented(deep) == deep
    for text in (body, deep):
        made, _ = program(text, ASKED, whole=False)
        assert ast.dump(ast.parse(made)) == expected


@given(st.text(max_size=200))
def test_whatever_a_model_wrote_is_a_text(text: str) -> None:
    for whole in (True, False):
        made, _ = program(text, ASKED, whole=whole)
        made.encode()


FENCED = "def row_scale(x, w, factor):\n    return x\n"


@pytest.mark.parametrize(
    "text",
    [
        f"```python title='a'\n{FENCED}```\n",
        f"```{{python}}\n{FENCED}```",
        f"```{{.python .numberLines}}\n{FENCED}```",
        f"```Python3.11\n{FENCED}```",
        f"```python:solution.py\n{FENCED}```",
        f"````markdown\nSo:\n```python\n{FENCED}```\n````\n",
        "  ```py\n" + FENCED.replace("def", "  def").replace("    return", "      return") + "  ```\n",
        "1. So:\n\n     ```py\n"
        + FENCED.replace("def", "     def").replace("    return", "         return")
        + "     ```\n2. Done",
        f"<think>\n```python\n{HEAD}    return 0\n```\nNo.</think>\n```python\n{FENCED}```\n",
        f"Let me see: def row_scale(x) is it.\n</think>\n\n{FENCED}",
    ],
)
def test_fences_of_all_kinds_and_thoughts_are_taken_off(text: str) -> None:
    assert program(text, ASKED, whole=False)[0].strip("\n") == FENCED.strip("\n")


def test_thoughts_alone_are_what_there_is() -> None:
    text = f"<think>{FENCED}</think>"
    assert program(text, ASKED, whole=True) == (text, ())
    for text, whole in ((f"<think>hm</think>{FENCED}", True), (f"hm</think>{FENCED}", False)):
        source, notes = program(text, ASKED, whole=whole)
        assert source == FENCED
        assert notes == ("What the model wrote while it was thinking is not read.",)


@pytest.mark.parametrize("white", ["    ", ""])
def test_a_mark_of_thoughts_within_a_program_is_a_part_of_it(white: str) -> None:
    says = f"{FENCED}    # drops </think>\nMARK = '</think>'\n"
    early = f"# drops </think>\n{FENCED}"
    for text in (says, early):
        assert program(text, ASKED, whole=True) == (text, ())
    assert program(says, ASKED, whole=False) == (says, ())
    for start in ("hm", "\n<think>so </think> ends it", f"<thinking>{FENCED}"):
        for whole in (False, True)[: 1 + (start != "hm")]:
            assert program(f"{start}</think>{says}", ASKED, whole=whole)[0] == says
    body = program(f"<think>{FENCED}</think>\n{white}return x\n", ASKED, whole=False)[0]
    assert body.endswith("return x\n") and "think" not in body and body.count("def ") == 1


@pytest.mark.parametrize("white", ["    ", "        "])
def test_a_fence_within_a_docstring_is_no_fence(white: str) -> None:
    inner = f"{white}```\n{white}>>> row_scale(1, 2, 3)\n{white}```\n"
    body = f'    """Scale.\n\n{inner}    """\n    return x\n'
    assert unfenced(body, "row_scale") == body
    example = inner.replace(">>> row_scale", "def row_scale")
    whole = f'{HEAD}    """Scale.\n\n{example}    """\n    return x\n'
    assert unfenced(whole, "row_scale") == whole


@pytest.mark.parametrize("unit", ["`", "```\n", "    ```py\n", "````md\n", "<think>", "</think>", "~~~ "])
def test_any_number_of_fences_is_read_in_time_linear_in_it(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    assert isinstance(program(text, ASKED, whole=True)[0], str)
