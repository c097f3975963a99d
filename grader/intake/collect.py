"""Submissions from the paths that a user names: files, folders, archives, downloads of learning platforms."""

from __future__ import annotations

import difflib
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from grader.errors import GraderError
from grader.intake.archives import (
    HEAD,
    MAX_ARCHIVE,
    OTHER_FORMATS,
    archive_kind,
    expand,
    has_archive_ending,
    is_archive,
    open_tree,
    tree_within,
)
from grader.intake.asked import Asked
from grader.intake.beside import files_beside
from grader.intake.choose import Beside, Chosen, choose
from grader.intake.ids import submission_id, with_suffix
from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.levels import below, identity, is_work, left, stem, top
from grader.intake.samples import Counts, is_samples, opener, read_samples
from grader.intake.submission import Submission
from grader.intake.tree import (
    NO_LINK,
    READING,
    Entry,
    HandedIn,
    LeftOut,
    Tree,
    UnreadableError,
    read_file,
)
from grader.people import Person

if TYPE_CHECKING:
    from grader.intake.roster import Roster

__all__ = ["Asked", "Intake", "collect", "require_some"]

PLAIN = "plain"
SAMPLES = "samples"
# What a spreadsheet writes; only what is named by itself is told by it.
TABLES = frozenset({".csv", ".tsv", ".xlsx", ".xls", ".ods"})
# A file of samples within an archive has to be in memory as a whole.
MAX_SAMPLES_FILE = 1 << 30
MAX_NOTES = 5
# More archives or folders beside each other are a class, and none is looked at for being one itself.
MOST_DOWNLOADS = 20
# The key of an attempt that is all that a folder or an archive holds.
WHOLE = "."


@dataclass(frozen=True)
class Intake:
    """What was found.

    Attributes:
        submissions: In the order of their ids.
        problems: Paths that could not be used and persons who can't be told apart, each with the reason; the
            rest goes on.
        left_out: Files that are not used, with the reason.
        layouts: The layouts that were found, by their names.
        missing: Who of the roster handed in nothing.
        roster: Everyone on the roster; nobody when there is none.
        notes: What the teacher should know and is no fault.
    """

    submissions: tuple[Submission, ...]
    problems: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    missing: tuple[Person, ...] = ()
    roster: tuple[Person, ...] = ()
    notes: tuple[str, ...] = ()


def collect(
    paths: Sequence[Path],
    asked: Asked,
    *,
    layout: str | None = None,
    roster: Path | None = None,
    single: bool = False,
) -> Intake:
    """All submissions in the given paths.

    A file is one submission. A folder or an archive is a download of a learning platform where it looks like
    one, else it is read as `grader.intake.layouts.plain` says; a file of JSON Lines holds a language model's
    samples. Of several attempts of one student the newest counts. Links in a folder are refused.

    Args:
        paths: Files, folders and archives.
        asked: What is asked for.
        layout: The layout of all of them; None to recognize it.
        roster: A CSV file that names everyone in the class.
        single: A path alone is one student's own work: a file with what it imports from its folder, or a
            folder or an archive of which one file defines what is asked for.

    Raises:
        GraderError: There is no such layout, or the roster can't be read.
    """
    if layout is not None:
        _require_layout(layout)
    # The roster first: when it can't be read, nothing else is worth the wait.
    listed = _listed(roster) if roster is not None else None
    search = _Search(asked, layout, single=single and len(paths) == 1)
    search.add(paths)
    submissions = _submissions(search, asked)
    missing: tuple[Person, ...] = ()
    if listed is not None:
        submissions, missing = _matched(listed, submissions, search)
    return Intake(
        tuple(sorted(submissions, key=lambda s: s.id)),
        tuple(search.problems),
        tuple(str(left) for left in search.left_out),
        tuple(dict.fromkeys(found.layout for found in search.found)),
        missing,
        listed.people if listed is not None else (),
        tuple(search.notes),
    )


def _listed(path: Path) -> Roster:
    from grader.intake.roster import read_roster

    return read_roster(path)


def _matched(
    roster: Roster, submissions: list[Submission], search: _Search
) -> tuple[list[Submission], tuple[Person, ...]]:
    from grader.intake.roster import match

    matched = match(roster, submissions)
    search.problems += matched.problems
    search.notes += matched.notes
    return list(matched.submissions), matched.missing


def _require_layout(name: str) -> None:
    from grader.intake.layouts.recognition import LAYOUTS

    names = (*LAYOUTS, SAMPLES)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise GraderError(f"there is no layout {name!r}; {hint}known layouts: {', '.join(names)}")


def require_some(intake: Intake) -> None:
    """Raises GraderError when there is nothing to grade."""
    if not intake.submissions:
        raise GraderError("\n".join(intake.problems) or "no submissions were named")


# --- attempts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """An attempt, its layout, the path in which it was found, and what gives the files that lie beside."""

    attempt: Attempt
    layout: str
    shown: str
    beside: Beside | None = None

    @property
    def key(self) -> str:
        """Who it is in every run; empty where only its place tells."""
        return "" if self.attempt.located else f"{self.layout}:{self.attempt.key}"


# A file that is named by itself needs neither the platforms' layouts nor rosters: `grader check` is to begin
# at once.


def _recognize(tree: Tree) -> str:
    """As `grader.intake.layouts.recognition.recognize`."""
    from grader.intake.layouts import recognition

    return recognition.recognize(tree)


def _read(tree: Tree, layout: str, entry: str) -> Reading:
    """As `grader.intake.layouts.recognition.read`."""
    from grader.intake.layouts import recognition

    return recognition.read(tree, layout, entry)


class _Search:
    def __init__(self, asked: Asked, layout: str | None, *, single: bool) -> None:
        self._asked = asked
        self._single = single
        self._layout = layout
        self._counts = Counts()
        self.found: list[_Found] = []
        self.problems: list[str] = []
        self.left_out: list[LeftOut] = []
        self.notes: list[str] = []

    def add(self, paths: Sequence[Path]) -> None:
        kinds = [self._kind(path) for path in paths]
        archives = kinds.count("archive")
        loose: defaultdict[Path, list[Path]] = defaultdict(list)
        for path, kind in zip(paths, kinds, strict=True):
            if kind == "file":
                loose[path.parent].append(path)
        together = self._of_one_download(loose)
        samples: set[str] = set()
        for path, kind in zip(paths, kinds, strict=True):
            if kind in ("folder", "archive"):
                self._tree_at(path, students=kind == "archive" and archives > 1)
            elif kind == "samples":
                # Samples have no names of their own, so that only the file tells that it was read before.
                place = os.path.realpath(path)
                if place in samples:
                    self.left_out.append(LeftOut(str(path), "named twice"))
                else:
                    samples.add(place)
                    self._samples(str(path), opener(path))
            elif kind == "file" and path.parent in together:
                tree = together[path.parent]
                if tree is not None:
                    together[path.parent] = None
                    self._tree(tree, tree.shown)
            elif kind == "file":
                self._file(path, several=len(paths) > 1)

    def _kind(self, path: Path) -> str:
        """``folder``, ``archive``, ``samples``, ``file``, or nothing for what is not there, which is told."""
        try:
            if path.is_dir():
                return "folder"
            if not path.exists() and not path.is_symlink():
                self.problems.append(f"{path} does not exist; expected a file or a folder of submissions")
                return ""
        except (OSError, ValueError) as error:
            self.problems.append(f"{path} can't be looked at: {getattr(error, 'strerror', None) or error}")
            return ""
        if path.suffix.lower() in TABLES and path.is_file():
            self.problems.append(f"{path} is a table and no submission; a class list is named with --roster")
            return ""
        if is_samples(path.name) or (self._layout == SAMPLES and not path.name.lower().endswith(".zip")):
            return "samples"
        return "archive" if _is_archive_file(path) else "file"

    def _of_one_download(self, loose: dict[Path, list[Path]]) -> dict[Path, Tree | None]:
        """Files of a platform's download that are named one by one, by their folders."""
        found: dict[Path, Tree | None] = {}
        for folder, paths in loose.items():
            tree = _loose_tree(folder, paths)
            forced = self._layout not in (None, PLAIN)
            if forced or (self._layout is None and len(paths) > 1 and _recognize(tree) != PLAIN):
                found[folder] = tree
        return found

    def _file(self, path: Path, *, several: bool) -> None:
        entry = _named_entry(path)
        base = stem(path.name) if is_work(path.name) else path.stem
        # Several files called solution.py are told apart by their folders.
        generic = base.lower() in ("solution", self._asked.entry.lower())
        parent = Path(os.path.abspath(path.parent)).name if several and generic else ""  # noqa: PTH100
        name = parent or base
        attempt = Attempt(str(path), name, name, (Person(name),), (HandedIn(path.name, entry),), located=True)
        beside = files_beside(path) if self._single else None
        self.found.append(_Found(attempt, PLAIN, str(path), beside))

    def _samples(self, shown: str, open_file: Callable[[], BinaryIO]) -> None:
        self._take(read_samples(open_file, shown, self._asked, self._counts), SAMPLES, shown)

    def _take(self, reading: Reading, layout: str, shown: str) -> None:
        self.found += [_Found(attempt, layout, shown) for attempt in reading.attempts]
        self.left_out += reading.left_out
        self.problems += reading.problems

    # --- folders and archives

    def _tree_at(self, path: Path, *, students: bool) -> None:
        """A folder or an archive; ``students``: it is one of several archives that were named."""
        try:
            tree = open_tree(path)
        except UnreadableError as error:
            self.problems.append(str(error))
            return
        self.left_out += tree.left_out
        self.problems += tree.problems
        self._tree(tree, str(path), students=students)

    def _tree(self, tree: Tree, shown: str, *, students: bool = False) -> None:
        layout = self._layout or _recognize(tree)
        if self._layout is None and layout == PLAIN and self._several_downloads(tree):
            return
        if layout == SAMPLES or (self._layout is None and layout == PLAIN and _only_samples(tree)):
            self._samples_in(tree)
            return
        reading = _read(tree, layout, self._asked.entry)
        if layout == PLAIN:
            inner = _inner_download(tree, reading) if self._layout is None else None
            if inner is not None:
                self.left_out += reading.left_out
                self._tree_at(inner, students=False)
                return
            files = tuple(HandedIn(entry.path, entry) for entry in tree.entries)
            if (students and _is_one_students(reading)) or (self._single and self._is_own_work(files)):
                whole = Attempt(WHOLE, tree.name, tree.name, (Person(tree.name),), files, located=True)
                reading = replace(reading, attempts=(whole,), left_out=())
        self._take(reading, layout, shown)

    def _is_own_work(self, files: Sequence[HandedIn]) -> bool:
        """Whether these are the files of one: a single one, not in a folder, defines what is asked for."""
        if len(files) < 2:
            return False
        chosen = choose(files, self._asked.entry, self._asked.packages)
        return chosen.defining == 1 and chosen.file is not None and "/" not in chosen.file.name

    def _several_downloads(self, tree: Tree) -> bool:
        """Takes the downloads of platforms of which a folder or an archive consists, where it does."""
        seen = top(tree)
        archives = [entry for entry in seen.files if has_archive_ending(entry.name)]
        work = [entry for entry in seen.files if is_work(entry.name) and entry not in archives]
        if not 0 < len(archives) + len(seen.filled) <= MOST_DOWNLOADS:
            return False
        inner = [below(tree, folder) for folder in seen.filled]
        for entry in archives:
            try:
                inner.append(tree_within(entry))
            except UnreadableError:
                return False
        layouts = [_recognize(one) for one in inner]
        readings = [_read(one, layout, self._asked.entry) for one, layout in zip(inner, layouts, strict=True)]
        classes = [
            one.shown
            for one, layout, reading in zip(inner, layouts, readings, strict=True)
            if layout != PLAIN and len({attempt.key for attempt in reading.attempts}) > 1
        ]
        if not classes:
            return False
        if work or PLAIN in layouts:
            packed = {entry.shown for entry in archives}
            self.problems += [
                f"{shown} looks like a platform's download, but is taken for what one student handed in "
                "because of what lies beside it; name it by itself"
                for shown in classes
                if shown in packed
            ]
            return False
        others = (entry for entry in seen.files if entry not in archives)
        self.left_out += left(others, "is no platform's download, as what lies beside it is")
        for one, layout, reading in zip(inner, layouts, readings, strict=True):
            self.left_out += one.left_out
            self.problems += one.problems
            self._take(reading, layout, one.shown)
        return True

    def _samples_in(self, tree: Tree) -> None:
        files = [entry for entry in tree.entries if is_samples(entry.name)]
        for entry in files:
            self._samples(entry.shown, partial(_open_entry, entry))
        others = (entry for entry in tree.entries if not is_samples(entry.name))
        self.left_out += left(others, "is no file of samples (.jsonl)")
        if not files:
            self.problems.append(f"{tree.shown} holds no file of samples; expected a .jsonl file")


def _is_archive_file(path: Path) -> bool:
    if path.name.lower().endswith(OTHER_FORMATS):
        return False
    try:
        handle = os.open(path, READING)
        with os.fdopen(handle, "rb") as file:
            return archive_kind(file.read(HEAD) or b"") != ""
    except (OSError, UnreadableError):
        return False


def _named_entry(path: Path) -> Entry:
    try:
        told = path.stat()
        size, modified = told.st_size, told.st_mtime
    except OSError:
        size, modified = 0, None
    # A link that the user names is the user's own choice.
    return Entry(path.name, size, modified, partial(read_file, str(path), follow=True), str(path))


def _loose_tree(folder: Path, paths: Sequence[Path]) -> Tree:
    entries = {path.name: _named_entry(path) for path in sorted(paths)}
    return Tree(Path(os.path.abspath(folder)).name, str(folder), tuple(entries.values()))  # noqa: PTH100


def _only_samples(tree: Tree) -> bool:
    names = [entry.name for entry in tree.entries]
    return any(map(is_samples, names)) and not any(is_work(n) and not is_samples(n) for n in names)


def _open_entry(entry: Entry) -> BinaryIO:
    """A file of a tree; one of a folder is streamed."""
    try:
        return os.fdopen(os.open(entry.shown, READING | NO_LINK), "rb")
    except OSError:
        return io.BytesIO(entry.read(MAX_SAMPLES_FILE))


def _inner_download(tree: Tree, reading: Reading) -> Path | None:
    """The platform's archive that is all a folder holds."""
    if len(reading.attempts) != 1 or len(reading.attempts[0].files) != 1:
        return None
    entry = reading.attempts[0].files[0].entry
    path = Path(entry.shown)
    if path.is_symlink() or not path.is_file() or not _is_archive_file(path):
        return None
    try:
        return path if _recognize(open_tree(path)) != PLAIN else None
    except UnreadableError:
        return None


def _is_one_students(reading: Reading) -> bool:
    """Whether an archive among several is what one student handed in, and no class of folders."""
    # A file that lies in no folder has its own path as key.
    loose = all(attempt.key in {file.entry.path for file in attempt.files} for attempt in reading.attempts)
    return len(reading.attempts) == 1 or loose


# --- submissions --------------------------------------------------------------------------------


def _submissions(search: _Search, asked: Asked) -> list[Submission]:
    """A submission for each student's newest attempt, each with an id that no other has."""
    counts = _newest(search)
    taken: set[str] = set()
    places: set[str] = set()
    submissions = []
    for found, attempts in counts:
        one, left_out, note = _submission(found, attempts, asked)
        origin = one.key or _place(one.path)
        # A link in a folder is refused by itself and takes nothing from the file that it leads to.
        if not one.key and origin in places:
            search.left_out.append(LeftOut(one.path, "named twice"))
            continue
        places.add(origin)
        search.left_out += left_out
        search.notes += [note] if note else []
        # Whatever the file system's case rules, two ids are two files.
        new = submission_id(found.attempt.identity)
        while new.lower() in taken:
            new = with_suffix(new, origin)
        taken.add(new.lower())
        submissions.append(replace(one, id=new))
    return submissions


def _newest(search: _Search) -> list[tuple[_Found, int]]:
    """The newest attempt of everyone and how many there are; the others are told of as left out."""
    groups: defaultdict[str, list[_Found]] = defaultdict(list)
    for found in search.found:
        if found.key:
            groups[found.key].append(found)
    newest: list[tuple[_Found, int]] = []
    ranked = _Ranked(search)
    for found in search.found:
        if not found.key:
            newest.append((found, 1))
        elif group := groups.pop(found.key, []):
            newest.append(ranked.best(group))
    ranked.tell()
    return _of_members(newest, search)


class _Ranked:
    """The attempts of each student by age, and what is to be said where nothing tells it."""

    def __init__(self, search: _Search) -> None:
        self._search = search
        self._by_date: list[str] = []
        self._by_place: list[str] = []

    def best(self, group: Sequence[_Found]) -> tuple[_Found, int]:
        """The newest of one student's attempts, and how many different ones there are."""
        told = [one for one in group if one.attempt.order]
        untold = [one for one in group if not one.attempt.order]
        best = max(enumerate(told), key=_age)[1] if told else untold[-1]
        different = len({one.attempt.order for one in told})
        counts = ""
        if untold:
            kinds = [[best]] if told else []
            for one in untold:
                same = next((kind for kind in kinds if _same_files(kind[0], one)), None)
                if same is None:
                    kinds.append([one])
                else:
                    same.append(one)
            if len(kinds) > 1:
                counts, best = self._guess([kind[-1] for kind in kinds])
            elif not told:
                best = kinds[0][-1]
            different += len(kinds) - bool(told)
        for one in group:
            if one is not best:
                self._leave_out(one, best, counts)
        return best, different

    def _guess(self, rivals: Sequence[_Found]) -> tuple[str, _Found]:
        """The newest of attempts that differ and of which nothing tells the age, and what decided."""
        dates = [max((f.entry.modified or 0.0 for f in one.attempt.files), default=0.0) for one in rivals]
        at = max(range(len(rivals)), key=lambda n: (dates[n], n))
        certain = dates.count(dates[at]) == 1 and min(dates) > 0
        (self._by_date if certain else self._by_place).append(rivals[at].attempt.name)
        return ("its files were changed last" if certain else "it was named last"), rivals[at]

    def _leave_out(self, one: _Found, best: _Found, counts: str) -> None:
        who = one.attempt.name + _label(one)
        if one.attempt.order == best.attempt.order and (one.attempt.order or _same_files(one, best)):
            reason = "named twice"
        elif counts:
            reason = f"another attempt of {who}; that of {best.shown}{_label(best)} counts, as {counts}"
        else:
            reason = f"an earlier attempt of {who}; the newest{_label(best)} counts"
        self._search.left_out += _all_files(one, reason)

    def tell(self) -> None:
        """Says of whom it was not told which attempt is the newest."""
        for names, how in (
            (self._by_date, "; the one whose files were changed last counts"),
            (self._by_place, ", nor do the files' dates tell it; the one that was named last counts"),
        ):
            if names:
                self._search.problems.append(
                    f"which of several attempts of {_some(names)} is the newest is not told{how}: name one "
                    "download only to be certain"
                )


def _age(pair: tuple[int, _Found]) -> tuple[_Order, int]:
    return _Order(pair[1].attempt.order), pair[0]


def _same_files(one: _Found, other: _Found) -> bool:
    """Whether two attempts are of the same files."""
    mine, others = one.attempt.files, other.attempt.files
    if [(f.name, f.entry.size) for f in mine] != [(f.name, f.entry.size) for f in others]:
        return False
    return all(_content(a.entry) == _content(b.entry) for a, b in zip(mine, others, strict=True))


def _content(entry: Entry) -> bytes | str:
    try:
        return entry.read(MAX_ARCHIVE)
    except UnreadableError as error:
        return str(error)


def _all_files(found: _Found, reason: str) -> list[LeftOut]:
    paths = [file.entry.shown for file in found.attempt.files]
    return [LeftOut(path, reason) for path in paths or [found.shown]]


def _of_members(newest: Sequence[tuple[_Found, int]], search: _Search) -> list[tuple[_Found, int]]:
    """The same, where everyone who handed in with different others keeps only the newest that they are in."""
    # By layout and account: the newest attempt, and how many there are.
    last: dict[tuple[str, str], _Found] = {}
    orders: defaultdict[tuple[str, str], set[tuple[float | int | str, ...]]] = defaultdict(set)
    for found in search.found:
        for account in filter(None, found.attempt.accounts):
            orders[found.layout, account].add(found.attempt.order)
    for found, _ in newest:
        for account in filter(None, found.attempt.accounts):
            key = (found.layout, account)
            if key not in last or _Order(last[key].attempt.order) < _Order(found.attempt.order):
                last[key] = found
    result = []
    for found, count in newest:
        attempt = found.attempt
        keys = [(found.layout, account) for account in attempt.accounts]
        stay = [at for at, key in enumerate(keys) if not key[1] or last[key] is found]
        if len(stay) == len(keys):
            result.append((found, max([count, *(len(orders[key]) for key in keys)])))
            continue
        gone = [attempt.people[at].name for at in range(len(keys)) if at not in stay]
        if not stay:
            reason = f"an earlier attempt of {attempt.name}{_label(found)}; all of them handed in again"
            search.left_out += _all_files(found, reason)
            continue
        search.notes.append(
            f"{', '.join(gone)} handed in again without the others of {attempt.label or found.shown}; for "
            f"{'each' if len(gone) > 1 else 'this one'} the newest counts"
        )
        people = tuple(attempt.people[at] for at in stay)
        changed = replace(
            attempt,
            name=", ".join(person.name for person in people),
            identity=identity(people[0].name, people[0].id or people[0].platform_id),
            people=people,
            accounts=tuple(attempt.accounts[at] for at in stay),
        )
        most = max([count, *(len(orders[keys[at]]) for at in stay)])
        result.append((replace(found, attempt=changed), most))
    return result


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NOTES])
    return f"{shown} and {len(names) - MAX_NOTES:,} others" if len(names) > MAX_NOTES else shown


class _Order:
    """What sorts attempts, also where a layout gives numbers to one and texts to another."""

    def __init__(self, order: tuple[float | int | str, ...]) -> None:
        self._key = [(isinstance(part, str), part) for part in order]

    def __lt__(self, other: _Order) -> bool:
        return self._key < other._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Order) and self._key == other._key

    __hash__ = None  # type: ignore[assignment]


def _label(found: _Found) -> str:
    return f" ({found.attempt.label})" if found.attempt.label else ""


def _place(path: str) -> str:
    """A file's own place, by whatever way it was named."""
    return os.path.abspath(path) if os.path.islink(path) else os.path.realpath(path)  # noqa: PTH100, PTH114


def _submission(found: _Found, attempts: int, asked: Asked) -> tuple[Submission, list[LeftOut], str]:
    """A submission, what is left out of it, and what the teacher should know of it."""
    attempt = found.attempt
    files, opened = _unpacked(attempt)
    chosen = choose(files, asked.entry, asked.packages, found.beside)
    path, file = _shown(found, chosen)
    problem, notes = _told(chosen, opened, files)
    one = Submission(
        id="",
        name=attempt.name,
        path=path,
        digest=chosen.digest,
        source=chosen.source,
        problem=problem,
        members=tuple(person.name for person in attempt.people) or (attempt.name,),
        notes=(*notes, *attempt.notes),
        people=attempt.people,
        file=file,
        parts=chosen.parts,
        key=found.key,
        layout=found.layout,
        rule=chosen.rule,
        submitted_at=attempt.submitted_at,
        late=attempt.late,
        attempts=attempts,
        feedback=attempt.feedback,
        task=attempt.task,
        fault=chosen.fault,
    )
    note = ""
    if attempt.key == WHOLE and attempt.located and chosen.defining > 1:
        note = (
            f"{found.shown} is taken for what one student handed in, though {chosen.defining} of its files "
            f"define {asked.entry}; if it is a class, put each file into a folder of its own"
        )
    return one, [*opened.left_out, *chosen.left_out], note


def _shown(found: _Found, chosen: Chosen) -> tuple[str, str]:
    """The path of the chosen file, and its name as the student called it where that is another."""
    files = found.attempt.files
    handed_in = chosen.file or (files[0] if files else None)
    if handed_in is None:
        return found.shown, ""
    path = handed_in.entry.shown
    name = PurePosixPath(handed_in.name).name
    return path, "" if name == PurePosixPath(path).name else name


@dataclass
class _Opened:
    """What was told while a student's archives were opened."""

    problems: list[str]
    left_out: list[LeftOut]
    notes: list[str]


def _unpacked(attempt: Attempt) -> tuple[list[HandedIn], _Opened]:
    """The files of an attempt, those of its archives in their place."""
    opened = _Opened([], [], [])
    handed = [
        replace(file, entry=replace(file.entry, reader=_Once(file.entry.reader))) for file in attempt.files
    ]
    # A file whose name tells nothing is looked into only where there is no other to grade.
    look = not any(is_work(file.name) for file in handed)
    files: list[HandedIn] = []
    for file in handed:
        if not is_archive(file, look=look):
            files.append(file)
            continue
        found = expand(file, "" if len(handed) == 1 else f"{file.name}/")
        files += [
            replace(one, entry=replace(one.entry, reader=_Once(one.entry.reader))) for one in found.files
        ]
        opened.left_out += found.left_out
        opened.notes += [
            f"{left.path.removeprefix(f'{file.entry.shown}/')} in {file.name} was not read: {left.reason}."
            for left in found.left_out
        ]
        problem = found.problem or ("" if found.files else f"{file.name} holds no files.")
        if problem:
            opened.problems.append(problem)
        if problem and not found.files and len(handed) > 1:
            opened.left_out.append(LeftOut(file.entry.shown, problem))
    return files, opened


def _told(chosen: Chosen, opened: _Opened, files: Iterable[HandedIn]) -> tuple[str, tuple[str, ...]]:
    """The problem and the notes of a submission."""
    notes = [*chosen.notes]
    problem = chosen.problem
    if chosen.source is None and not chosen.fault and opened.problems:
        # Why there is nothing to choose from.
        problem = " ".join(opened.problems) if not list(files) else " ".join([*opened.problems, problem])
    else:
        notes += opened.problems
    more = len(opened.notes) - MAX_NOTES
    notes += opened.notes[:MAX_NOTES] + ([f"So were {more} more files."] if more > 0 else [])
    return problem, tuple(notes)


class _Once:
    """A reader that reads once; the files of an archive are long ones to come by."""

    def __init__(self, reader: Callable[[int], bytes]) -> None:
        self._reader = reader
        self._data = b""
        self._limit = -1

    def __call__(self, limit: int) -> bytes:
        complete = 0 <= len(self._data) <= self._limit
        if self._limit < 0 or (limit > self._limit and not complete):
            self._data = self._reader(limit)
            self._limit = limit
        return self._data[: limit + 1]
