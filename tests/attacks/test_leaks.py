"""What hidden cases hold is nowhere in what a student sees, however a submission tries to carry it there.

The exercise has hidden cases with marked inputs and answers. Submissions raise, print, return and remember
them; the teacher's record shows that they did, and nothing of the student's may.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from once import once
from support.commands import Done, grader, load, save
from support.small import RIGHT, WRONG, freeze_exercise, write_exercise

# Its tests together take long.
pytestmark = pytest.mark.slow

LIMITS = {"seconds_per_call": 0.2, "seconds": 4, "memory": "128 MiB", "output": "16 KiB"}
INPUT, ANSWER = 13371337.0, 9753186.0
WEIGHT = 2 * ANSWER
DIMS = {"N": 1, "D": 1, "K": 1, "factor": 1}
HIDDEN: list[dict[str, Any]] = [
    {
        "id": "zq7_input",
        "title": "zq7 title of an input",
        "hint": "zq7 hint on an input",
        "clause": "scale",
        "points": 1,
        "visibility": "hidden",
        "dims": DIMS,
        "arrays": {"x": {"values": {"constant": INPUT}}, "w": {"values": "ones"}},
    },
    {
        "id": "zq7_answer",
        "title": "zq7 title of an answer",
        "hint": "zq7 hint on an answer",
        "clause": "product",
        "points": 1,
        "visibility": "hidden",
        "requires": ["ones_row"],
        "dims": DIMS,
        "arrays": {"x": {"values": "ones"}, "w": {"values": {"constant": WEIGHT}}},
    },
    {
        "id": "zq7_relation",
        "title": "zq7 title of a relation",
        "hint": "zq7 hint on a relation",
        "clause": "rows",
        "points": 1,
        "visibility": "hidden",
        "dims": {"N": 2, "D": 1, "K": 1, "factor": 1},
        "arrays": {"x": {"values": {"constant": INPUT}}},
        "check": {
            "relation": "equals",
            "change": {"x": {"take": {"axis": 0, "indices": [1, 0]}}},
            "rows": [0, 1],
            "other_rows": [1, 0],
        },
    },
]


def forms(value: float) -> list[str]:
    """How a number may be written, from the first digits that show which one it is."""
    rounded = [f"{value:.{n}e}".partition("e")[0] for n in range(4, 8)]
    return [
        f"{value:.0f}",
        f"{value:,.0f}",
        f"{value:.3e}",
        *rounded,
        value.hex(),
        value.hex().removeprefix("0x1."),
        hex(int(value)),
        np.float64(value).tobytes().hex(),
        repr(np.float64(value).tobytes())[2:-1],
    ]


# Beside the numbers: names and texts of hidden cases.
MARKERS = [*forms(INPUT), *forms(ANSWER), *forms(WEIGHT), "zq7", "drawn_0", "x_matters", "no student may see"]

BEGIN = f"""\
import atexit, builtins, ctypes, faulthandler, gc, logging, mmap, os, sys, warnings
import numpy as np

seen = []


def right(x, w, factor):
    return factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))


def spell(x, w):
    return f"{{x.tolist()}} {{w.tolist()}} {{right(x, w, 1).tolist()}}"


def marked(x, w):
    return x.size > 0 and x.shape[1] == 1 and (x[0, 0] == {INPUT!r} or w[0, 0] == {WEIGHT!r})

"""


def _when_marked(body: str, before: str = "") -> str:
    """A right solution that does something in the marked calls, all of which are hidden."""
    indented = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return (
        f"{BEGIN}\n{before}\n\ndef row_scale(x, w, factor):\n    if marked(x, w):\n{indented}\n"
        "    return right(x, w, factor)\n"
    )


@dataclass(frozen=True)
class Leak:
    """A submission that carries hidden values out, and what the teacher's record holds of them."""

    source: str
    teacher: str = "13371337"


LEAKS = {
    "raises_text": Leak(_when_marked("raise ValueError(spell(x, w))")),
    "raises_arrays": Leak(_when_marked("raise ValueError(x, w)"), r"13371337|1\.337"),
    "raises_memory_error": Leak(_when_marked("raise MemoryError(spell(x, w))")),
    "raises_import_error": Leak(_when_marked("raise ImportError(spell(x, w))")),
    "raises_key_error": Leak(_when_marked("return {}[spell(x, w)]")),
    "exits_with_text": Leak(_when_marked("sys.exit(spell(x, w))"), "ended the program"),
    "raises_type_error": Leak(_when_marked("raise TypeError(spell(x, w))")),
    "raises_syntax_error": Leak(
        _when_marked("raise SyntaxError(spell(x, w), (__file__, int(x[0, 0]), int(w[0, 0]), spell(x, w)))")
    ),
    "type_name": Leak(_when_marked('raise type("E" + spell(x, w), (Exception,), {})("text")')),
    "line_number": Leak(
        _when_marked('exec(compile("\\n" * (int(x[0, 0]) % 1_000_000) + "1 / 0", __file__, "exec"))'),
        "line 371338",
    ),
    "function_name": Leak(
        _when_marked(
            "f = lambda: 1 / 0\n"
            "f.__code__ = f.__code__.replace(co_name=spell(x, w), co_qualname=spell(x, w))\n"
            "f()"
        ),
        "ZeroDivisionError",
    ),
    "note": Leak(_when_marked('e = ValueError("text")\ne.add_note(spell(x, w))\nraise e'), "ValueError"),
    "group": Leak(_when_marked("raise ExceptionGroup(spell(x, w), [ValueError(spell(x, w))])")),
    "cause": Leak(_when_marked('raise ValueError("text") from KeyError(spell(x, w))'), "ValueError"),
    "context": Leak(
        _when_marked('try:\n    raise KeyError(spell(x, w))\nfinally:\n    raise ValueError("text")'),
        "ValueError",
    ),
    "prints": Leak(
        _when_marked(
            "for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):\n"
            "    print(spell(x, w), file=stream, flush=True)"
        )
    ),
    "writes_to_descriptors": Leak(
        _when_marked(
            "for n in range(16):\n"
            "    try:\n        os.write(n, spell(x, w).encode())\n"
            "    except OSError:\n        pass"
        ),
        "",
    ),
    "writes_to_descriptors_and_crashes": Leak(
        _when_marked(
            "os.write(2, f'  File \"{__file__}\", line {int(x[0, 0]) % 10**6} in f'.encode())\n"
            "ctypes.string_at(0)"
        ),
        "crashed",
    ),
    "warns": Leak(_when_marked("warnings.warn(spell(x, w))")),
    "logs": Leak(_when_marked("logging.error(spell(x, w))\nlogging.getLogger('x').critical(x)")),
    "unraisable": Leak(
        _when_marked(
            "text = spell(x, w)\nclass Loud:\n    def __del__(self):\n        raise ValueError(text)\nLoud()"
        )
    ),
    "fault_handler": Leak(
        _when_marked("print(spell(x, w), file=sys.stderr)\nfaulthandler.dump_traceback(2)")
    ),
    "returns_input": Leak(_when_marked("return x"), "wrong_value|13371337"),
    "returns_text": Leak(_when_marked("return spell(x, w)"), "wrong_type"),
    "returns_number": Leak(_when_marked("return float(x[0, 0])"), "wrong_type"),
    "returns_list": Leak(_when_marked("return x.tolist() + w.tolist()"), "wrong_type"),
    "returns_dict": Leak(_when_marked("return {spell(x, w): x}"), "wrong_type"),
    "returns_repr": Leak(
        _when_marked('return type("T" + spell(x, w), (), {"__repr__": lambda self: spell(x, w)})()'),
        "wrong_type",
    ),
    "returns_attributes": Leak(
        _when_marked('return type("T", (), {spell(x, w): 1, "__slots__": ()})()'), "wrong_type"
    ),
    "returns_fields": Leak(
        _when_marked("return np.zeros(1, [(spell(x, w), 'f8')])"), "wrong_shape|wrong_type"
    ),
    "returns_titled_dtype": Leak(
        _when_marked("return np.zeros((1, 1), np.dtype('f8', metadata={spell(x, w): 1}))"), "wrong_value"
    ),
    "returns_long_dtype": Leak(_when_marked("return np.zeros((1, 1), f'S{int(x[0, 0])}')"), "S|V|bytes"),
    "returns_shape": Leak(_when_marked("return np.zeros(int(x[0, 0]) % 100_000)"), "37"),
    "returns_shape_of_many_dims": Leak(
        _when_marked("return np.zeros([int(d) for d in str(int(x[0, 0]))])"), "wrong_shape|out_of_memory"
    ),
    "exit_code": Leak(_when_marked("os._exit(int(x[0, 0]) % 199 + 7)"), "exit code"),
    "signal": Leak(_when_marked("os.abort() if x[0, 0] > 2 else ctypes.string_at(0)"), "SIG"),
    "time_out": Leak(_when_marked("while True: pass"), "took more than"),
    "idles": Leak(_when_marked("import time\ntime.sleep(100)"), "did nothing"),
    "memory": Leak(_when_marked("np.ones(int(x[0, 0]) << 20)"), "out_of_memory"),
    "changes_inputs": Leak(_when_marked("x[...] = x * 2"), "wrong_value|input_mutated"),
    "at_exit": Leak(_when_marked("atexit.register(print, spell(x, w))"), ""),
    "remembers_globals": Leak(
        _when_marked("seen.append(spell(x, w))", "").replace(
            "    if marked",
            "    if seen:\n        print(seen)\n        raise ValueError(seen)\n    if marked",
        )
    ),
    "remembers_builtins": Leak(
        _when_marked(
            "builtins.told = np.told = sys.modules['told'] = os.environ['told'] = spell(x, w)"
        ).replace(
            "    if marked",
            "    if hasattr(builtins, 'told'):\n        raise ValueError(builtins.told)\n    if marked",
        )
    ),
    "remembers_in_earlier_answers": Leak(
        _when_marked("for old in seen: old[...] = x[0, 0]").replace(
            "    return right(x, w, factor)\n",
            "    answer = right(x, w, factor)\n    seen.append(answer)\n    return answer\n",
        ),
        "",
    ),
    "remembers_in_shared_memory": Leak(
        _when_marked(
            "for m in [o for o in gc.get_objects() if isinstance(o, mmap.mmap)]:\n"
            "    for at in range(0, len(m) - 400, 256):\n"
            "        try:\n"
            "            m[at : at + len(spell(x, w))] = spell(x, w).encode()\n"
            "        except (TypeError, IndexError, ValueError):\n"
            "            break"
        ),
        "",
    ),
    "remembers_in_files": Leak(
        _when_marked(
            "for name in places:\n    try:\n"
            "        open(name, 'w').write(spell(x, w))\n"
            "    except OSError:\n        pass",
            "places = ['/tmp/zq7_leak', '/dev/shm/zq7_leak', 'zq7_leak', '/var/tmp/zq7_leak']\n"
            "for name in places:\n    try:\n"
            "        print(open(name).read())\n"
            "    except OSError:\n        pass\n",
        ),
        "",
    ),
    "remembers_over_a_crash": Leak(
        _when_marked(
            "print(spell(x, w))\nos._exit(3)",
            f"secret = np.float64({INPUT!r}).tobytes()\n"
            "for one in gc.get_objects():\n"
            "    if isinstance(one, mmap.mmap) and secret in one[:]:\n"
            "        print('found', one[:200])\n",
        )
    ),
    "floods": Leak(_when_marked("print('x' * 1_000_000)"), "xxxx"),
    "talks_out_of_turn": Leak(
        _when_marked(
            "for n in range(16):\n    for t in (b'E', b'L', b'A'):\n"
            "        try:\n            os.write(n, t)\n"
            "        except OSError:\n            pass\n"
            "raise ValueError(spell(x, w))"
        ),
        "",
    ),
    "wrong": Leak(WRONG, "zq7"),
    "right": Leak(RIGHT, "zq7"),
}

# These take their time in every run.
SLOW = ("time_out", "idles", "memory", "remembers_over_a_crash", "talks_out_of_turn")


@dataclass(frozen=True)
class Seen:
    """All that a student sees, and what the teacher keeps."""

    commands: dict[str, Done]
    pages: dict[str, dict[str, str]]
    records: dict[str, dict[str, Any]]
    teacher: dict[str, str]


def _grade(root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_CACHE", str(root / "cache"))
        write_exercise(root, exercise={"limits": LIMITS}, more=HIDDEN)
        freeze_exercise(root)
        folder = root / "class"
        folder.mkdir()
        for name, leak in LEAKS.items():
            (folder / f"{name}.py").write_text(leak.source, "utf-8")
        quick = [f"class/{name}.py" for name in LEAKS if name not in SLOW]
        commands = {
            "json": grader("check", "class", "--json", "--html", "pages", cwd=root),
            "all": grader("check", *quick, "--all", cwd=root),
            "plain": grader("check", *quick[:6], cwd=root),
            "case": grader("check", *quick[:6], "--case", "ones_row", "--all", cwd=root),
            "clause": grader("check", *quick[:24], "--clause", "scale", "--json", cwd=root),
            "hidden_case": grader("check", quick[0], "--case", "zq7_input", cwd=root),
            "near_case": grader("check", quick[0], "--case", "zq7", cwd=root),
        }
        grader("grade", "class", "--out", "out", "--allow-weak-isolation", cwd=root)
    save(commands, root / "commands.json")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    root = once(tmp_path_factory, "leaks", _grade)
    commands = load(root / "commands.json")
    pages = {
        where: {name: (root / folder / f"{name}.html").read_text("utf-8") for name in LEAKS}
        for where, folder in (("check", "pages"), ("grade", "out/students"))
    }
    told = {record["submission"]["id"]: record for record in commands["json"].json}
    lines = (root / "out" / "results.jsonl").read_text("utf-8").splitlines()
    teacher = {json.loads(line)["submission"]["id"]: line for line in lines}
    assert told.keys() == teacher.keys() == LEAKS.keys()
    return Seen(commands, pages, told, teacher)


def found(text: str) -> list[str]:
    """The markers in a text, each with what stands around it; digests are left out, they are noise."""
    text = re.sub(r"[0-9a-f]{64}", "", text)
    return [
        text[max(0, m.start() - 80) : m.end() + 40]
        for marker in MARKERS
        for m in re.finditer(re.escape(marker), text)
    ]


def test_markers_are_found_where_they_are() -> None:
    for text in (f"{INPUT}", f"x = [[{INPUT!r}]]", f"{ANSWER:.5g}", f"{WEIGHT:e}", repr([np.float64(INPUT)])):
        assert found(text), text
    assert not found(RIGHT) and not found(WRONG)


@pytest.mark.parametrize("name", LEAKS)
def test_a_student_sees_nothing_of_hidden_cases(seen: Seen, name: str) -> None:
    assert found(json.dumps(seen.records[name], ensure_ascii=False)) == []
    assert found(json.dumps(seen.records[name])) == []
    for pages in seen.pages.values():
        assert found(pages[name]) == []


@pytest.mark.parametrize("name", LEAKS)
def test_the_teachers_record_shows_that_it_was_tried(seen: Seen, name: str) -> None:
    assert re.search(LEAKS[name].teacher, seen.teacher[name]), seen.teacher[name][-3000:]


@pytest.mark.parametrize("command", ["plain", "all", "json", "case", "clause"])
def test_no_command_shows_anything_of_hidden_cases(seen: Seen, command: str) -> None:
    done = seen.commands[command]
    assert found(done.out) == [] and found(done.err) == []


def test_a_hidden_case_cannot_be_asked_for(seen: Seen) -> None:
    for command in ("hidden_case", "near_case"):
        done = seen.commands[command]
        # What the user has typed may be repeated, and nothing else.
        assert found((done.out + done.err).replace("zq7_input", "").replace("'zq7'", "")) == []


@pytest.mark.parametrize("name", LEAKS)
def test_of_a_hidden_case_a_student_sees_clause_verdict_and_points_alone(seen: Seen, name: str) -> None:
    record = seen.records[name]
    hidden = [case for case in record["cases"] if case["visibility"] == "hidden"]
    assert [case["id"] for case in hidden] == [f"hidden_{n:02d}" for n in range(1, len(hidden) + 1)]
    assert len(hidden) == 7
    for case in hidden:
        assert (case["title"], case["hint"], case["error"], case["details"]) == ("", "", None, {})
        # One sentence a verdict: it must not depend on what happened.
        same = {c["message"] for r in seen.records.values() for c in r["cases"] if _alike(c, case)}
        assert same == {case["message"]}
    assert record["hidden_output"] == {"stdout": "", "stderr": "", "truncated": False}
    assert record["output"]["truncated"] is False


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["visibility"] == "hidden" and one["verdict"] == other["verdict"])


@pytest.mark.parametrize("name", LEAKS)
def test_what_happens_in_hidden_calls_changes_nothing_that_is_said_of_public_ones(
    seen: Seen, name: str
) -> None:
    if name in ("wrong", "remembers_globals"):
        pytest.skip("its public calls fail too")
    record, right = seen.records[name], seen.records["right"]
    # That arguments stay as they are is asked of every call, and the student is told in which kind it failed.
    apart = {"x_kept"} if name in ("changes_inputs", "remembers_in_shared_memory") else set()

    def public(of: dict[str, Any]) -> list[dict[str, Any]]:
        return [c for c in of["cases"] if c["visibility"] == "public" and c["id"] not in apart]

    assert public(record) == public(right)
    for case in record["cases"]:
        if case["id"] in apart and case["verdict"] != "passed":
            assert case["message"] == "In a hidden check the call changed x; work on a copy."
    assert record["output"]["stdout"] == record["output"]["stderr"] == ""


def test_files_that_a_hidden_call_would_have_left_do_not_exist(seen: Seen) -> None:
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "."):
        assert not (Path(folder) / "zq7_leak").exists()
