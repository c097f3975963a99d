"""What a submission says is shown as text wherever it is shown: in terminals, pages, tables and records."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest
from once import once
from support.commands import Done, grader, load, save
from support.small import RIGHT, WRONG, freeze_exercise, write_exercise

# Its tests together take long.
pytestmark = pytest.mark.slow

MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\\\"'><svg/onload=alert(3)>&#60;b&#62;</pre></td>"
)
STYLES = "[bold red]x[/bold red][link=http://x]y[/link]{{7*7}}{%raw%}${7*7}"
CONTROLS = "\\x1b[2J\\x1b]0;title\\x07\\x1b]8;;http://x\\x1b\\\\\\x1b[31m\\x00\\x07\\x08\\x7f\\x9b31m\\x90q\\x85\\r\\n"
DIRECTIONS = "\\u202e\\u2066\\u200f\\u2028\\ufeff\\U000e0001\\udcff"
HOSTILE = CONTROLS + MARKUP + STYLES + DIRECTIONS
BEGIN = f'HOSTILE = "{HOSTILE}"\nNAME = HOSTILE.replace("\\x00", "").encode("utf-8", "replace").decode()\n'
ZEROS = "def row_scale(x, w, factor):\n"

SUBMISSIONS = {
    "right": RIGHT,
    "wrong": WRONG,
    "raises": f"{BEGIN}{ZEROS}    raise ValueError(HOSTILE)\n",
    "raises_import": f"{BEGIN}raise ImportError(HOSTILE)\n",
    "raises_syntax": f"{BEGIN}{ZEROS}    raise SyntaxError(HOSTILE, (__file__, 2, 3, HOSTILE))\n",
    "raises_memory": f"{BEGIN}{ZEROS}    raise MemoryError(HOSTILE)\n",
    "raises_key": f"{BEGIN}{ZEROS}    return {{}}[HOSTILE]\n",
    "raises_group": f"{BEGIN}{ZEROS}    raise ExceptionGroup(HOSTILE, [ValueError(HOSTILE)])\n",
    "exits": f"{BEGIN}{ZEROS}    import sys\n    sys.exit(HOSTILE)\n",
    "named_exception": f"{BEGIN}{ZEROS}    raise type(NAME, (Exception,), {{}})(HOSTILE)\n",
    "named_type": f"{BEGIN}{ZEROS}    return type(NAME, (), {{'__module__': NAME}})()\n",
    "named_entry": f"{BEGIN}row_scale = type(NAME, (), {{}})()\n",
    "named_function": f"{BEGIN}def g(): 1 / 0\ng.__code__ = g.__code__.replace(co_name=NAME)\n"
    f"{ZEROS}    g()\n",
    "named_names": f"{BEGIN}globals()[NAME] = globals()['row_scal' + NAME] = globals()['row_scale '] = 1\n",
    "named_fields": f"{BEGIN}import numpy as np\n{ZEROS}    return np.zeros((len(x), 1), [(NAME, 'f8')])\n",
    "named_keys": f"{BEGIN}{ZEROS}    return {{HOSTILE: x}}\n",
    "returns_text": f"{BEGIN}{ZEROS}    return HOSTILE\n",
    "returns_texts": f"{BEGIN}import numpy as np\n{ZEROS}    return np.full((len(x), w.shape[1]), HOSTILE)\n",
    "prints": f"{BEGIN}import sys, os\nprint(HOSTILE)\n{ZEROS}    print(HOSTILE)\n"
    "    sys.stderr.write(HOSTILE)\n"
    "    os.write(2, NAME.encode())\n    return x\n",
    "prints_bytes": f"{ZEROS}    import sys\n    sys.stdout.buffer.write(bytes(range(256)) * 9)\n"
    "    return x\n",
    "warns": f"{BEGIN}import warnings\n{ZEROS}    warnings.warn(HOSTILE)\n    return x\n",
    "crashes": f"{BEGIN}import ctypes, os\n{ZEROS}    os.write(2, NAME.encode())\n    ctypes.string_at(0)\n",
    "imports": "import \ufb01le_ﬁ_ﷺ_ª\n" + RIGHT,
    "line_of_source": f"{ZEROS}    y = 'MARKUP</pre><script>alert(4)</script>\u202e'; return y[99999]\n",
    "comment_on_the_line": f"{ZEROS}    return x[99999]  # </pre><img onerror=alert(5)>\u202e\u2066 [red]\n",
    "syntax": "x = 1\ny = 'MARKUP</pre><script>alert(6)</script>\u202e\n",
    "syntax_name": "def <img src=x onerror=alert(7)>(): pass\n",
    "coding": "# -*- coding: <script>alert(8)</script> -*-\n" + RIGHT,
    "banned": "import numpy as np\n\ndef row_scale(x, w, factor):\n"
    "    '''</pre><script>alert(9)</script>'''\n    return np.einsum('nd,dk->nk', x, w)  # <b>\u202e\n",
    "computed_name": f"{BEGIN}import numpy\n{ZEROS}    return getattr(numpy, NAME)(x)\n",
    "defined_with_markup": "ﬁ = 1\ndef row_scalé(x, w, factor): pass\n",
    "raises_a_lot": f"{BEGIN}{ZEROS}    raise ValueError(HOSTILE * 10_000)\n",
}
# Characters that act on a terminal or on the reader's eye: controls, formats, separators, surrogates.
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
SGR = re.compile(r"\x1b\[[0-9;]*m")
# Names of files, which the system allows to hold anything but a slash.
NAMES = {
    "<img src=x onerror=alert(10)>": RIGHT,
    "a\x1b[2Jb\x1b]0;x\x07\u202ec": WRONG,
    "[bold]x[blink]": WRONG,
    '=HYPERLINK("http:x")': RIGHT,
    "new\nline\r\tand tab": WRONG,
    "'; alert(11); '": "def row_scale(: pass",
}


@dataclass(frozen=True)
class Shown:
    """What the commands showed and wrote."""

    commands: dict[str, Done]
    out: Path
    pages: Path


def _grade(root: Path) -> None:
    folder = root / "class"
    folder.mkdir()
    for name, source in {**SUBMISSIONS, **NAMES}.items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    limits = {"seconds_per_call": 5, "seconds": 60, "memory": "256 MiB", "output": "16 KiB"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_CACHE", str(root / "cache"))
        write_exercise(root, exercise={"limits": limits})
        freeze_exercise(root)
        some = [*folder.glob("ra*.py"), *folder.glob("n*.py"), *folder.glob("*[!a-z_]*.py")]
        plain = [f"class/{name}.py" for name in ("right", "wrong", "banned", "syntax", "returns_text")]
        commands = {
            "check": grader("check", "class", "--all", "--html", "pages", cwd=root),
            "colour": grader("check", *some, "--all", cwd=root, FORCE_COLOR="1", COLUMNS="100"),
            "honest_colour": grader("check", *plain, "--all", cwd=root, FORCE_COLOR="1", COLUMNS="100"),
            "json": grader("check", "class", "--json", cwd=root),
            "grade": grader("grade", "class", "--out", "out", "--allow-weak-isolation", cwd=root),
        }
    save(commands, root / "commands.json")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    root = once(tmp_path_factory, "outputs", _grade)
    return Shown(load(root / "commands.json"), root / "out", root / "pages")


def acting(text: str, *, allowed: str = "\n") -> list[str]:
    """What in a text would act on what shows it."""
    return [f"U+{ord(c):04X}" for c in text if c not in allowed and unicodedata.category(c) in ACTING]


@pytest.mark.parametrize("command", ["check", "grade", "colour"])
def test_nothing_acts_on_the_terminal(shown: Shown, command: str) -> None:
    done = shown.commands[command]
    out = SGR.sub("", done.out) if command == "colour" else done.out
    assert acting(out) == [] and acting(done.err) == []
    assert done.status in (0, 1, 2)
    if command != "grade":
        # That it was shown at all, as text, wherever a line of it ends.
        text = "".join(out.split())
        assert "<script>alert(1)</script>" in text and "[boldred]x[/boldred]" in text


def test_colours_are_ours_alone(shown: Shown) -> None:
    used = set(SGR.findall(shown.commands["colour"].out))
    assert used <= set(SGR.findall(shown.commands["honest_colour"].out))


def test_the_document_for_programs_is_ascii(shown: Shown) -> None:
    done = shown.commands["json"]
    assert done.out.isascii() and acting(done.out) == []
    assert len(done.json) == len(SUBMISSIONS) + len(NAMES)


class Parts(HTMLParser):
    """Elements, attributes, scripts and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))
        self._inside = tag if tag in ("script", "style") else self._inside
        if self._inside == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.text += data


def all_pages(shown: Shown) -> list[Path]:
    return [*shown.out.rglob("*.html"), *shown.pages.rglob("*.html")]


def test_no_page_holds_markup_or_script_of_a_submission(shown: Shown) -> None:
    right = Parts((shown.out / "teacher" / "right.html").read_text("utf-8"))
    wrong = Parts((shown.out / "teacher" / "wrong.html").read_text("utf-8"))
    index = Parts((shown.out / "index.html").read_text("utf-8"))
    tags = {tag for page in (right, wrong, index) for tag, _ in page.elements} | {
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "strong",
        "em",
    }
    attributes = {name for page in (right, wrong, index) for _, given in page.elements for name in given}
    scripts = {s for page in (right, wrong, index) for s in page.scripts}
    assert not {"img", "iframe", "object", "embed", "form", "base"} & tags
    pages = all_pages(shown)
    assert len(pages) == 3 * (len(SUBMISSIONS) + len(NAMES)) + 1
    for path in pages:
        page = Parts(path.read_text("utf-8"))
        assert {tag for tag, _ in page.elements} <= tags, path
        for _tag, given in page.elements:
            assert not any(name.startswith("on") for name in given), path
            assert given.keys() <= attributes | {"open", "title", "colspan", "start"}, (path, given)
            for name in ("href", "src", "action"):
                link = given.get(name, "")
                assert not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", link) or link.startswith("data:"), (
                    path,
                    link,
                )
        assert set(page.scripts) <= scripts, path


def test_no_page_holds_a_character_that_acts(shown: Shown) -> None:
    for path in all_pages(shown):
        source = path.read_text("utf-8")
        assert acting(source, allowed="\n\t") == [], path
        assert acting(Parts(source).text, allowed="\n\t") == [], path
        assert len(source) < 1 << 20, path


def test_what_was_said_is_on_the_pages_as_text(shown: Shown) -> None:
    for name in ("raises", "prints", "named_exception", "raises_import"):
        text = Parts((shown.out / "students" / f"{name}.html").read_text("utf-8")).text
        assert "<script>alert(" in text, name


def test_tables_and_records_stay_whole(shown: Shown) -> None:
    count = len(SUBMISSIONS) + len(NAMES)
    rows = list(csv.reader((shown.out / "gradebook.csv").read_text("utf-8-sig").splitlines()))
    assert len(rows) == count + 1 and {len(row) for row in rows} == {len(rows[0])}
    for row in rows:
        for cell in row:
            assert acting(cell) == [] and not re.match(r"[=+@\t\r]|-\D", cell), cell
    raw = (shown.out / "results.jsonl").read_bytes()
    lines = raw.decode("utf-8").split("\n")
    assert lines.pop() == "" and len(lines) == count
    for line in lines:
        record = json.loads(line, parse_constant=lambda word: 1 / 0)
        assert record["status"] != "grader_fault", record["message"]
        assert len(line) < 1 << 20


def test_a_huge_message_is_cut_everywhere(shown: Shown) -> None:
    for where in ("students", "teacher"):
        assert len((shown.out / where / "raises_a_lot.html").read_text("utf-8")) < 1 << 18
    assert len(shown.commands["check"].out) < 1 << 20
