"""Of all files of one attempt the text that is run: which file, read how, with which modules beside it."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from grader.intake.magics import without_calls_of_jupyter
from grader.intake.modules import Module, find_helpers, is_test, never_loaded
from grader.intake.notebooks import MAX_NOTEBOOK_BYTES, is_notebook, read_notebook
from grader.intake.submission import module_name
from grader.intake.text import MAX_BYTES, Text, decode, tidy
from grader.intake.tree import HandedIn, LeftOut, UnreadableError
from grader.positions import Part
from grader.result import ONLY_FILE

# So many are looked into for the entry point; a person hands in a handful.
MAX_CANDIDATES = 200
# No file system has longer names; an archive may.
MAX_NAME = 255
EXPECTED = "a .py file or a Jupyter notebook (.ipynb)"
_NAMED = 5
NO_REASONS: Mapping[str, str] = {}
# Endings that a file gets on its way: a browser's, an editor's, a mail program's.
_ENDINGS = re.compile(
    r"(?P<stem>.*?)(?:(?P<py>\.py)|(?P<ipynb>\.ipynb)|(?P<odd_py>\.py[w3]|\.py(?:\.txt|\.download|\.text))"
    r"|(?P<odd_ipynb>\.ipynb(?:\.txt|\.json|\.download))|(?P<text>\.txt|\.text)?)[ .]*",
    re.IGNORECASE | re.DOTALL,
)
# At the left margin; elsewhere it may stand under a condition.
_RELATIVE = re.compile(
    r"^from(?:[ \t]*\.)+[ \t]*(?:\w+(?:[ \t]*\.[ \t]*\w+)*(?:[ \t]|\\\n)+|\\\n[ \t]*)?import\b", re.MULTILINE
)
_COPY = re.compile(
    r"(?:copy of |kopie von )?(?P<stem>.+?)"
    r"(?:[ _-]*\(\d+\)|[ _-]+copy(?:[ _-]?\d+)?|[ _-]\d{1,2})?",
    re.DOTALL,
)
# A file that was handed in again under its name, or saved twice, gets a number from platforms and browsers.
_NUMBERED = re.compile(
    r"(?P<stem>.*?)(?:[ _-]*\((?P<brackets>\d{1,3})\)|-(?P<dash>\d{1,3}))?", re.DOTALL | re.ASCII
)


@dataclass(frozen=True)
class Chosen:
    """What is run of an attempt.

    Attributes:
        source: The text; None when ``problem`` or ``fault`` says why there is none.
        problem: Why there is none, through the student's doing.
        fault: Why there is none though the student is not to blame.
        digest: ``sha256:`` and the digest of the bytes of all files used; empty when they can't be read.
        file: The chosen file; None when there is none to choose.
        parts: The parts of the text; none when it is one plain file.
        rule: By which rule the file was chosen, in words.
        notes: What the student should know.
        left_out: The files that are not used, each with the reason.
        defining: How many files define the entry point themselves; of a notebook and the same as a .py one.
    """

    source: str | None
    problem: str = ""
    fault: str = ""
    digest: str = ""
    file: HandedIn | None = None
    parts: tuple[Part, ...] = ()
    rule: str = ""
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    defining: int = 0


Beside = Callable[[str, Collection[str]], Sequence[HandedIn]]


def choose(
    files: Sequence[HandedIn],
    entry: str | Sequence[str],
    packages: Sequence[str] = (),
    beside: Beside | None = None,
) -> Chosen:
    """The text that is run, of all files of one attempt.

    Python files and notebooks are candidates. The first rule that tells them apart decides: it has the entry
    point in it; it imports nothing relative to itself, which only a part of a package can; it defines the
    entry point (at the left margin, else anywhere, else by an import); it is no test; its name has the usual
    ending; it is called ``solution`` or as the entry point; it is the one nearest to the top; a ``.py`` goes
    before a notebook; by name, where of two that differ in a number such as ``-2`` or ``(2)`` the higher one
    goes first. A text file is a candidate where there is nothing else and it defines the
    entry point.

    Args:
        files: The files, in any order.
        entry: The name of the function or class that is asked for, or the names of several, of which a file
            need not define all.
        packages: The packages that a submission may import.
        beside: Gives the files that were not handed in but lie beside, for a text and the names of modules
            that are never theirs.
    """
    ordered = sorted(files, key=lambda file: (unicodedata.normalize("NFC", file.name), file.name))
    ranked = _ranked(ordered, entry)
    if not ranked:
        problem = _nothing(ordered)
        left_out = tuple([_left_out(file, "no Python file and no notebook") for file in ordered])
        return Chosen(None, problem, left_out=left_out)
    best, twin = _of_twins(ranked, entry)
    told = {twin.file.name} if twin else set()
    rule = _rule(best, ranked, entry)
    read = best.read(entry)
    if read.unreadable:
        return _with_left_out(Chosen(None, read.unreadable, file=best.file, rule=rule), ranked, ordered, told)
    own = f"sha256:{hashlib.sha256(read.raw).hexdigest()}"
    notes = list(read.notes)
    if twin is not None and not _same_code(read.source, twin.read(entry).source):
        notes.append(
            f"{best.name} and {twin.name} hold different code; {best.name} is graded."
            " Hand in one of them only."
        )
    if read.source is not None and _RELATIVE.search(read.source):
        notes.append(
            f"{best.name} imports relative to itself (from . …), which works within its package only; hand in"
            f" a solution.py beside the package that imports {_words(entry)} from it."
        )
    defining = sum(one.defines < 2 for one in ranked if one is not twin)
    chosen = Chosen(
        None, read.problem, read.fault, own, best.file, rule=rule, notes=tuple(notes), defining=defining
    )
    if read.source is None:
        return _with_left_out(chosen, ranked, ordered, told)
    near: Sequence[HandedIn] = ()
    if beside is not None:
        near = beside(read.source, never_loaded(packages))
    own_name = module_name(best.name)
    helpers = find_helpers(best.file, read.source, own_name, [*ordered, *near], packages)
    if helpers.problem and near:
        # It is about files that nobody handed in.
        notes.append(f"Of what lies beside {best.name} nothing is read: {helpers.problem}")
        helpers, near = find_helpers(best.file, read.source, own_name, ordered, packages), ()
    chosen = replace(chosen, notes=(*notes, *helpers.notes))
    if helpers.problem:
        return _with_left_out(
            replace(chosen, problem=helpers.problem), ranked, ordered, told, helpers.reasons
        )
    if helpers.modules:
        source, parts = _joined(best.file.name, read, helpers.modules)
        digest = _digest(best.name, read.raw, helpers.modules)
        chosen = replace(chosen, source=source, parts=parts, digest=digest)
    else:
        chosen = replace(chosen, source=read.source, parts=read.parts)
    used = {module.file.name for module in helpers.modules}
    if lying := sorted(used & {file.name for file in near}):
        more = len(lying) - _NAMED
        shown = ", ".join(lying[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        note = f"{best.name} imports {shown} from its own folder: hand in all of them."
        chosen = replace(chosen, notes=(*chosen.notes, note))
    return _with_left_out(chosen, ranked, ordered, told, helpers.reasons, used)


# --- candidates -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """A candidate's text."""

    raw: bytes = b""
    source: str | None = None
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    fault: str = ""
    unreadable: str = ""
    notebook: bool = False


@dataclass(frozen=True)
class _Candidate:
    """A file that may be chosen.

    Attributes:
        file: The file.
        stem: Its name without ending.
        notebook: It is one by its name.
        odd: 0 for the usual endings, 1 for ``.py.txt`` and the like, 2 for a text file.
        defines: 0 where it defines the entry point at the left margin, 1 elsewhere, 2 where it imports it, 3
            where it does not.
        named: 0 where it is called ``solution``, 1 as the entry point, 2 and 3 with a copy's mark, else 4.
        inner: It imports relative to itself, so that it can't be run but from within its package.
    """

    file: HandedIn
    stem: str
    notebook: bool
    odd: int
    named: int
    defines: int = 3
    inner: bool = False

    @property
    def name(self) -> str:
        return PurePosixPath(self.file.name).name

    @property
    def depth(self) -> int:
        return len(PurePosixPath(self.file.name).parts)

    @cached_property
    def key(self) -> tuple[bool, bool, int, bool, int, int, int, bool, str, int, str]:
        """The smallest is chosen."""
        folder = PurePosixPath(self.file.name).parent
        numbered = _NUMBERED.fullmatch(unicodedata.normalize("NFC", self.stem))
        assert numbered is not None
        number = int(numbered["brackets"] or numbered["dash"] or 0)
        test = is_test(f"{self.stem}.py")
        return (
            self.defines == 3,
            self.inner,
            self.defines,
            test,
            self.odd,
            self.named,
            self.depth,
            self.notebook,
            f"{folder}/{numbered['stem']}".casefold(),
            -number,
            self.file.name,
        )

    def read(self, entry: str | Sequence[str]) -> _Read:
        """Its text, whatever it is by its name: some notebooks are called .py, and some scripts .ipynb."""
        try:
            raw = self.file.entry.read(MAX_NOTEBOOK_BYTES if self.notebook else MAX_BYTES)
        except UnreadableError as error:
            clear = self.notebook and self.file.entry.size > MAX_NOTEBOOK_BYTES
            return _Read(
                unreadable=f"{error} Clear its outputs and hand it in again." if clear else str(error)
            )
        looks_so = is_notebook(raw)
        if self.notebook and not looks_so and raw.lstrip()[:1] != b"{":
            text = decode(raw)
            if text.source is not None and _defines(text.source, entry) < 3:
                return self._script(raw, text, f"{self.name} holds Python; it was read as that.")
        if self.notebook or looks_so:
            return self._notebook(raw)
        note = f"{self.name} was read as Python; call it {self.stem}.py." if self.odd else ""
        return self._script(raw, decode(raw), note)

    def _notebook(self, raw: bytes) -> _Read:
        book = read_notebook(raw)
        note = "" if self.notebook else f"{self.name} holds a notebook; it was read as one."
        if self.notebook and self.odd:
            note = f"{self.name} was read as a notebook; call it {self.stem}.ipynb."
        notes = (*((note,) if note else ()), *book.notes)
        return _Read(raw, book.source, book.parts, notes, book.problem, book.fault, notebook=True)

    def _script(self, raw: bytes, text: Text, note: str) -> _Read:
        notes = [n for n in (text.note, note) if n]
        source, skipped = without_calls_of_jupyter(text.source or "")
        if skipped:
            lines = ", ".join(str(one.line) for one in skipped[:_NAMED])
            more = f" and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
            notes.append(
                f"Calls of get_ipython() work in Jupyter only; they are passed over (line {lines}{more})."
            )
        return _Read(raw, None if text.source is None else source, (), tuple(notes), text.problem)


def _ranked(files: Sequence[HandedIn], entry: str | Sequence[str]) -> list[_Candidate]:
    """The candidates, the best first."""
    found = [candidate for file in files if (candidate := _candidate(file, entry)) is not None]
    usual = [candidate for candidate in found if candidate.odd < 2]
    texts = [] if usual else [candidate for candidate in found if candidate.odd == 2]
    if len(usual) == 1:
        return usual
    looked = sorted(usual or texts, key=lambda candidate: candidate.key)
    looked[:MAX_CANDIDATES] = [_looked_into(candidate, entry) for candidate in looked[:MAX_CANDIDATES]]
    if texts:
        looked = [candidate for candidate in looked if candidate.defines < 2]
    return sorted(looked, key=lambda candidate: candidate.key)


def _candidate(file: HandedIn, entry: str | Sequence[str]) -> _Candidate | None:
    name = PurePosixPath(file.name).name
    if len(name) > MAX_NAME:
        return None
    found = _ENDINGS.fullmatch(name)
    if found is None:
        return None
    notebook = bool(found["ipynb"] or found["odd_ipynb"])
    odd = 0 if found["py"] or found["ipynb"] else 1 if notebook or found["odd_py"] else 2
    stem = found["stem"]
    if (odd == 2 and "." in stem) or not stem:
        return None
    if odd == 0 and name[-1] in " .":
        odd = 1
    plain = unicodedata.normalize("NFC", stem).casefold()
    names = (entry,) if isinstance(entry, str) else entry
    wanted = ["solution", *(unicodedata.normalize("NFC", name).casefold() for name in names)]
    copied = _COPY.fullmatch(plain)
    named = 4
    if plain in wanted:
        named = min(wanted.index(plain), 1)
    elif copied is not None and copied["stem"] in wanted:
        named = 2 + min(wanted.index(copied["stem"]), 1)
    return _Candidate(file, stem, notebook, odd, named)


def _looked_into(candidate: _Candidate, entry: str | Sequence[str]) -> _Candidate:
    """The same with how it defines the entry point, and whether it can be run by itself."""
    read = candidate.read(entry)
    if read.source is not None:
        inner = _RELATIVE.search(read.source) is not None
        return replace(candidate, defines=_defines(read.source, entry), inner=inner)
    if read.fault:
        # Without the package for notebooks the strings in its JSON are looked at as they stand.
        text = tidy(read.raw.decode("utf-8", "replace").replace("\\n", "\n").replace('"', "\n"))
        return replace(candidate, defines=_defines(text, entry))
    return candidate


def _defines(text: str, entry: str | Sequence[str]) -> int:
    """How a text defines a name, or the best of several, without being parsed; see `_Candidate`."""
    if not isinstance(entry, str):
        return min((_defines(text, name) for name in entry), default=3)
    name = re.escape(entry)
    binds = (
        rf"(?:(?:async[ \t]+)?def[ \t]+{name}\b|class[ \t]+{name}\b"
        rf"|(?:[^\W\d]\w*[ \t]*=[ \t]*){{0,9}}{name}[ \t]*(?::[^=\n]{{1,200}})?=(?!=))"
    )
    text = unicodedata.normalize("NFKC", text)
    if re.search(rf"^{binds}", text, re.MULTILINE):
        return 0
    if re.search(rf"^[ \t]+{binds}", text, re.MULTILINE):
        return 1
    imports = (
        rf"^[ \t]*(?:from\b[^\n#]{{1,200}}?\bimport\b(?:[^\n#]{{0,300}}?|[ \t]*\([^)]{{0,1000}}?)"
        rf"\b{name}\b(?![ \t]+as\b)|(?:from|import)\b[^\n#]{{1,300}}?\bas[ \t]+{name}\b)"
    )
    return 2 if re.search(imports, text, re.MULTILINE) else 3


def _of_twins(
    ranked: Sequence[_Candidate], entry: str | Sequence[str]
) -> tuple[_Candidate, _Candidate | None]:
    """The best and, where it is a script and a notebook of one name, the other of them.

    The script is taken: it was exported for handing in. Not so where it holds whole cells as strings, which
    is how a cell under ``%%time`` is exported; then the notebook is.
    """
    best = ranked[0]
    place = PurePosixPath(best.file.name).parent
    for other in ranked[1:]:
        if (
            other.notebook != best.notebook
            and other.stem.casefold() == best.stem.casefold()
            and PurePosixPath(other.file.name).parent == place
            and other.defines < 3
        ):
            script, notebook = (other, best) if best.notebook else (best, other)
            read = notebook.read(entry)
            if best is script and read.source is not None and _defines(read.source, entry) <= script.defines:
                source = script.read(entry)
                if b"get_ipython().run_cell_magic(" in source.raw:
                    return notebook, script
            return best, other
    return best, None


def _same_code(one: str | None, other: str | None) -> bool:
    """Two texts have the same lines, comments and blank lines and Jupyter's own aside."""
    if one is None or other is None:
        return False

    def lines(text: str) -> list[str]:
        stripped = [line.strip() for line in text.split("\n")]
        return [line for line in stripped if line and not line.startswith(("#", "pass  #"))]

    return lines(one) == lines(other)


def _words(entry: str | Sequence[str]) -> str:
    """``Urn or totals``."""
    return entry if isinstance(entry, str) else " or ".join(entry)


# --- words ----------------------------------------------------------------------------------------


def _rule(best: _Candidate, ranked: Sequence[_Candidate], entry: str | Sequence[str]) -> str:
    """Why this one, for people."""
    entry = _words(entry)
    if len(ranked) == 1:
        return ONLY_FILE if best.odd < 2 else f"the only text that defines {entry}"
    rivals = [candidate for candidate in ranked if candidate is not best]
    if best.defines == 3:
        start = f"no file defines {entry}; of all of them "
    elif all(rival.defines == 3 for rival in rivals):
        return f"the only file that {'imports' if best.defines == 2 else 'defines'} {entry}"
    else:
        start = f"of the files with {entry} in them "
    second = min(rivals, key=lambda candidate: candidate.key)
    if second.key < best.key:
        return f"{start}the notebook, because {second.name} holds some of its cells as strings"
    differs = next(at for at, (a, b) in enumerate(zip(best.key, second.key, strict=True)) if a != b)
    reasons = (
        "the one with it",
        "the one that imports nothing from around it",
        f"the one that {'imports' if best.defines == 2 else 'defines'} it"
        + (" at the left margin" if best.defines == 0 and second.defines == 1 else ""),
        "the one that is no test",
        "the one whose name ends as usual",
        f"the one that is called {best.stem}",
        "the one nearest to the top",
        "the script, which goes before a notebook",
        "the first by name",
        "the one with the highest number",
        "the first by name",
    )
    return f"{start}{reasons[differs]}"


def _nothing(files: Sequence[HandedIn]) -> str:
    if not files:
        return f"Nothing was handed in; expected {EXPECTED}."
    names = [_shown(file.name) for file in files]
    listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    kind = "is no Python file" if len(names) == 1 else "are no Python files"
    return f"{listed} {kind}; hand in {EXPECTED}."


def _shown(name: str) -> str:
    line = "".join(c if c.isprintable() else "\ufffd" for c in name)
    return line if len(line) <= 80 else f"{line[:79]}…"


def _left_out(file: HandedIn, reason: str) -> LeftOut:
    return LeftOut(file.entry.shown or file.entry.path, reason)


def _with_left_out(
    chosen: Chosen,
    ranked: Sequence[_Candidate],
    files: Sequence[HandedIn],
    told: Collection[str],
    reasons: Mapping[str, str] = NO_REASONS,
    used: Collection[str] = (),
) -> Chosen:
    """The same, with every file that is not used, and notes about those that could be meant as the work."""
    if chosen.file is None:
        return chosen
    taken = PurePosixPath(chosen.file.name).name
    candidates = {candidate.file.name: candidate for candidate in ranked}
    left_out, notes = [], []
    for file in files:
        if file is chosen.file or file.name in used:
            continue
        candidate = candidates.get(file.name)
        if candidate is None:
            left_out.append(_left_out(file, "no Python file and no notebook"))
            continue
        reason = f"{_shown(taken)} is taken: {chosen.rule}"
        if candidate.defines == 3:
            reason = reasons.get(file.name) or reason
        left_out.append(_left_out(file, reason))
        if file.name not in told and (candidate.defines < 2 or not is_test(file.name)):
            notes.append(
                f"{_shown(file.name)} was handed in too and was not read; {_shown(taken)} is graded."
            )
    if len(notes) > _NAMED:
        notes[_NAMED:] = [f"So were {len(notes) - _NAMED} more files."]
    return replace(chosen, notes=(*chosen.notes, *notes), left_out=tuple(left_out))


# --- one text of several --------------------------------------------------------------------------


def _joined(name: str, read: _Read, modules: Sequence[Module]) -> tuple[str, tuple[Part, ...]]:
    """The main file or its cells, then the modules, each with a line feed at its end."""
    text = read.source or ""
    text = text if text.endswith("\n") else f"{text}\n"
    parts = list(read.parts) or [Part("main", PurePosixPath(name).name, 1, text.count("\n"))]
    line = text.count("\n") + 1
    pieces = [text]
    for module in modules:
        lines = module.text.count("\n")
        parts.append(Part("module", module.path, line, lines, module.name, module.package))
        pieces.append(module.text)
        line += lines
    return "".join(pieces), tuple(parts)


def _digest(name: str, raw: bytes, modules: Sequence[Module]) -> str:
    """Of all files used, by their names and digests; the order in which they were found is not in it."""
    files = [[unicodedata.normalize("NFC", name), hashlib.sha256(raw).hexdigest()]]
    files += [[module.name, module.digest] for module in modules]
    return f"sha256:{hashlib.sha256(json.dumps(files).encode()).hexdigest()}"
