"""Helper modules: the other Python files that the chosen file imports, and that become part of its text."""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.intake.text import MAX_BYTES, decode
from grader.intake.tree import HandedIn, UnreadableError

MAX_MODULES = 50
_WORD = re.compile(r"(?<![\w.])(\.*)([^\W\d]\w*(?:\.\w+)*)")
# The text of a whole string such as "heads" or ".tools.heads", as import_module gets it.
_QUOTED = re.compile(r"""["'](\.{0,3})([^\W\d]\w*(?:\.\w+)*)(?=["'])""")
_TEST = re.compile(r"test_.*\.py|.*_test\.py|tests?\.py|conftest\.py|setup\.py", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    """A helper module.

    Attributes:
        name: The name under which it is imported: ``tools.heads``; of ``tools/__init__.py`` it is ``tools``.
        package: It is a package's ``__init__.py``.
        path: Its path below the folder that it is imported from: ``tools/heads.py``.
        file: The file.
        text: Its text, which ends with a line feed.
        digest: SHA-256 of its bytes, in hexadecimal.
    """

    name: str
    package: bool
    path: str
    file: HandedIn
    text: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Helpers:
    """What was found beside a file.

    Attributes:
        modules: In the order of their names.
        notes: What the student should know.
        reasons: Of files that are no modules of it, by their names: why not.
        problem: Why the submission can't be read, or empty.
    """

    modules: tuple[Module, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def is_test(name: str) -> bool:
    """A file that belongs to tests or to packaging, by its name."""
    return _TEST.fullmatch(PurePosixPath(name).name) is not None


def never_loaded(packages: Iterable[str]) -> frozenset[str]:
    """The names that are never a helper's: the standard library's and those of the exercise's packages."""
    return sys.stdlib_module_names | {package.partition(".")[0] for package in packages}


def find_helpers(
    main: HandedIn, text: str, own_name: str, files: Sequence[HandedIn], packages: Iterable[str]
) -> Helpers:
    """The modules that a file mentions, and those that they mention.

    They are looked for in the file's own folder, then in those above it, as far as these were handed in. A
    module is mentioned by the first part of its name: as a word on a line with ``import`` or at the beginning
    of a string. With a package all its files come; test files only when they are mentioned themselves.

    Args:
        main: The chosen file.
        text: Its text.
        own_name: The name of the module that it runs as.
        files: All files of the attempt.
        packages: The packages that a submission may import; these and the standard library always win.
    """
    return _Search(main, own_name, files, packages).run(text)


class _Search:
    def __init__(
        self, main: HandedIn, own_name: str, files: Sequence[HandedIn], packages: Iterable[str]
    ) -> None:
        self._main = main
        self._shown = PurePosixPath(main.name).name
        self._own_name = own_name
        self._installed = {package.partition(".")[0] for package in packages}
        self._reasons: dict[str, str] = {}
        self._notes: list[str] = []
        self._index = self._indexed(files)
        self._found: dict[str, Module] = {}
        self._tests: list[Module] = []
        self._mentioned: set[str] = set()
        self._size = 0
        self._problem = ""

    def run(self, text: str) -> Helpers:
        self._size = len(text.encode("utf-8", "replace"))
        waiting = [text]
        told: set[str] = set()
        while waiting and not self._problem:
            tops, words = mentions(waiting.pop())
            self._mentioned |= words
            for top in sorted(tops & self._index.keys() - told):
                told.add(top)
                if self._may_be_loaded(top):
                    self._tests += [m for m in self._index[top] if is_test(m.path)]
                    waiting += self._take([m for m in self._index[top] if not is_test(m.path)])
            meant = [m for m in self._tests if m.name.rpartition(".")[2] in self._mentioned]
            self._tests = [m for m in self._tests if m not in meant]
            waiting += self._take(meant)
        modules = tuple(self._found[name] for name in sorted(self._found))
        return Helpers(modules, tuple(self._notes), self._reasons, self._problem)

    def _may_be_loaded(self, top: str) -> bool:
        """Whether modules under that name are loaded; a note says why not."""
        shown = self._index[top][0].path
        # A folder is named by its first file otherwise.
        shown = shown if "/" not in shown else f"{shown.partition('/')[0]}/"
        if top in sys.stdlib_module_names or top in self._installed:
            whose = "Python's own module" if top in sys.stdlib_module_names else "the installed package"
            self._notes.append(
                f"{shown} is never loaded: “import {top}” gives {whose}. Give the file another name."
            )
            reason = f"“import {top}” gives {whose}"
        elif top == self._own_name:
            self._notes.append(
                f"{shown} is not loaded, because {self._shown} runs under the name {top} itself."
                " Give one of them another name."
            )
            reason = "the graded file runs under that name"
        else:
            return True
        for module in self._index[top]:
            self._reasons[module.file.name] = reason
        return False

    def _take(self, modules: Sequence[Module]) -> list[str]:
        """Read modules; their texts."""
        texts = []
        for module in modules:
            if len(self._found) >= MAX_MODULES:
                self._problem = (
                    f"{self._shown} imports from more than {MAX_MODULES} files, which is the most that is"
                    " read. Hand in only what it needs."
                )
                break
            try:
                raw = module.file.entry.read(MAX_BYTES)
            except UnreadableError as error:
                self._unread(module, str(error))
                continue
            decoded = decode(raw)
            text = decoded.source
            if text is None and not raw.strip(b"\xef\xbb\xbf \t\r\n\f"):
                text = "\n"
            if text is None:
                self._unread(module, decoded.problem)
                continue
            text = text if text.endswith("\n") else f"{text}\n"
            self._size += len(text.encode("utf-8", "replace"))
            if self._size > MAX_BYTES:
                self._problem = (
                    f"{self._shown} and the files that it imports have more than {MAX_BYTES:,} bytes, which"
                    " is the most that is read."
                )
                break
            if decoded.note:
                self._notes.append(f"{module.path}: {decoded.note}")
            digest = hashlib.sha256(raw).hexdigest()
            self._found[module.name] = Module(
                module.name, module.package, module.path, module.file, text, digest
            )
            texts.append(text)
        return texts

    def _unread(self, module: Module, why: str) -> None:
        self._notes.append(f"{module.path} can't be imported: {why}")
        self._reasons[module.file.name] = why

    def _indexed(self, files: Sequence[HandedIn]) -> dict[str, list[Module]]:
        """The modules by the first part of their names; seen from two folders a file is two modules."""
        folder = PurePosixPath(self._main.name).parent
        index: dict[str, list[Module]] = {}
        for root in (folder, *folder.parents):
            here: dict[str, list[Module]] = {}
            for file in files:
                if file.name == self._main.name or not file.name.lower().endswith(".py"):
                    continue
                module = self._module(file, root)
                if module is not None:
                    here.setdefault(module.name.partition(".")[0], []).append(module)
            for top, modules in here.items():
                if top not in index:
                    index[top] = self._without_rivals(modules)
        return index

    def _module(self, file: HandedIn, root: PurePosixPath) -> Module | None:
        """The module that a file is when it is imported from a folder."""
        path = PurePosixPath(file.name)
        if not path.is_relative_to(root):
            return None
        below = path.relative_to(root)
        names = [*below.parts[:-1], below.stem]
        package = names[-1] == "__init__"
        if package:
            names.pop()
        # Names in an import statement are compared in this form.
        names = [unicodedata.normalize("NFKC", name) for name in names]
        if not names or not all(name.isidentifier() for name in names) or names[0] == "__main__":
            # Seen from a folder above it may have a name yet.
            if root == PurePosixPath(".") and not (package or names[:1] == ["__main__"]):
                self._reasons.setdefault(file.name, "no import statement can name it")
            return None
        return Module(".".join(names), package, below.as_posix(), file)

    def _without_rivals(self, modules: Sequence[Module]) -> list[Module]:
        """Of modules with one name the package, else the first; a plain module hides a folder of its name."""
        kept: dict[str, Module] = {}
        for module in sorted(modules, key=lambda m: (m.name, not m.package, m.path)):
            rival = kept.setdefault(module.name, module)
            if rival is not module:
                self._reasons[module.file.name] = f"{rival.path} has the same name for “import”"
        hiding = {name for name, module in kept.items() if not module.package}
        for name, module in list(kept.items()):
            above = next((n for n in _above(name) if n in hiding), "")
            if above:
                self._reasons[module.file.name] = f"{kept[above].path} hides its folder"
                del kept[name]
        return list(kept.values())


def _above(name: str) -> list[str]:
    """The packages that a module's name is in, the outermost first: ``a``, ``a.b`` for ``a.b.c``."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def mentions(text: str) -> tuple[set[str], set[str]]:
    """The first parts of names that a text may import, and all parts."""
    joined = unicodedata.normalize("NFKC", text.replace("\\\n", " "))
    named = [name for line in joined.split("\n") if "import" in line for name in _WORD.findall(line)]
    tops: set[str] = set()
    words: set[str] = set()
    for dots, name in [*named, *_QUOTED.findall(joined)]:
        parts = name.split(".")
        words.update(parts)
        if not dots:
            tops.add(parts[0])
    return tops, words
