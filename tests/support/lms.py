"""Classes that nobody was in, as learning platforms would hand over what they handed in.

``make("canvas", 1000, source)`` gives a class's files, and what an intake must find in them, by the keys of
the platform. The files have the traps that real ones have: students of the same name, umlauts in both Unicode
forms, ids with leading zeros, late marks, resubmissions, groups, helper modules and litter.
"""

from __future__ import annotations

import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from grader.intake.tree import Entry, Tree
from grader.people import Person

HELPER = "def helper(x):\n    return x\n"
EARLIER = "raise RuntimeError('this is an earlier attempt')\n"
START = datetime(2026, 10, 5, 9, 30)
ASSIGNMENT = "Homework 1_forward pass"
# What the writers make of each platform's downloads; the first of a platform is its usual one.
STYLES = {
    "canvas": ("usual", "anonymous"),
    "moodle": ("usual", "old", "flat", "blind", "login"),
    "gradescope": ("usual", "words"),
    "blackboard": ("usual",),
    "brightspace": ("usual", "flat", "german"),
    "classroom": ("usual", "no outer folder"),
    "plain": ("files", "folders"),
}
VARIANTS = [(layout, style) for layout, styles in STYLES.items() for style in styles]
_LITTER = (".DS_Store", "Thumbs.db", "__MACOSX/._solution.py", "__pycache__/solution.cpython-311.pyc")
_FIRST = ("Ada", "Björn", "Chloé", "David", "Émile", "Fatma", "Gül", "Hua", "Íñigo", "Jane", "Karl-Heinz")
_LAST = (
    "Ångström",
    "Müller",
    "Nguyễn",
    "O'Neill",
    "Øster",
    "Smith",
    "van der Berg",
    "李",
    "Żak",
    "Doe",
    "Abu_Bakr",
)
_GERMAN = ("Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez")


@dataclass(frozen=True)
class Student:
    """Somebody, or a group, who handed in.

    Attributes:
        first: The first name; of a group the name.
        last: The last name; empty for a group.
        sid: The student number.
        login: The login, which GitHub would accept too.
        user: The platform's own number.
        file: What the file with the solution is called.
        late: Whether it came late.
        attempts: How often was handed in.
        helper: Whether a module ``helpers.py`` was handed in too.
        time: When the newest attempt came.
        partner: The name of the second member of a group, where a platform tells it.
    """

    first: str
    last: str
    sid: str
    login: str
    user: str
    file: str = "solution.py"
    late: bool = False
    attempts: int = 1
    helper: bool = False
    time: datetime = START
    partner: str = ""

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}".strip()

    @property
    def files(self) -> tuple[str, ...]:
        return (self.file, "helpers.py") if self.helper else (self.file,)


@dataclass(frozen=True)
class Expected:
    """What an intake must tell of one student or group.

    Attributes:
        name: The name for people.
        people: Everybody who gets a row.
        file: The name of the file with the solution, as the student called it.
        text: Its text.
        files: The names of all files.
        late: What the platform says.
        submitted_at: ISO 8601, or empty.
        attempts: How many attempts are in the download.
        feedback: The name of the folder that the platform takes back.
    """

    name: str
    people: tuple[Person, ...]
    file: str
    text: str
    files: tuple[str, ...]
    late: bool | None = None
    submitted_at: str = ""
    attempts: int = 1
    feedback: str = ""


@dataclass(frozen=True)
class MadeClass:
    """A download and what is in it.

    Attributes:
        layout: The layout's name.
        name: The folder's or the archive's own name.
        files: The text of each path below it.
        litter: Paths that a tree doesn't hold.
        expected: What must be found, by the platform's keys.
        left_out: Paths that belong to no attempt.
    """

    layout: str
    name: str
    files: dict[str, str]
    litter: tuple[str, ...]
    expected: dict[str, Expected]
    left_out: tuple[str, ...] = ()

    def tree(self) -> Tree:
        """The download as a tree in memory, without its litter."""
        return tree(self.name, self.files)

    def wrapped(self, *folders: str) -> MadeClass:
        """The same download within folders."""
        start = "/".join((*folders, ""))
        return replace(
            self,
            name="download",
            files={start + path: text for path, text in self.files.items()},
            litter=tuple(start + path for path in self.litter),
            left_out=tuple(start + path for path in self.left_out),
        )

    def write(self, parent: Path) -> Path:
        """The download as a folder in another; litter too."""
        root = parent / self.name
        for path, text in self.contents():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return root

    def zip(self, parent: Path) -> Path:
        """The download as an archive in a folder; litter too."""
        path = parent / f"{self.name}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in self.contents():
                archive.writestr(name, text)
        return path

    def contents(self) -> list[tuple[str, str]]:
        """All paths with their texts."""
        return [*self.files.items(), *((path, "litter") for path in self.litter)]


def tree(name: str, files: dict[str, str], folders: Sequence[str] = ()) -> Tree:
    """A tree in memory."""
    every = {*folders}
    for path in files:
        parts = path.split("/")[:-1]
        every.update("/".join(parts[: i + 1]) for i in range(len(parts)))
    entries = (_entry(name, path, files[path]) for path in sorted(files))
    return Tree(name, f"/downloads/{name}", tuple(entries), frozenset(every))


def students(count: int) -> list[Student]:
    """As many students, and some groups, with all traps among the first thirty."""
    made = []
    for i in range(count):
        # Every eighth has the name of the one before.
        j = i - 1 if i % 8 == 5 else i
        first, last = _FIRST[j % len(_FIRST)], _LAST[j // len(_FIRST) % len(_LAST)]
        form = "NFD" if i % 2 else "NFC"
        group = i % 10 == 9
        made.append(
            Student(
                f"Team {i} Zoë" if group else unicodedata.normalize(form, first),
                "" if group else unicodedata.normalize(form, last),
                sid=f"{i:07d}",
                login=f"{'team' if group else 'u'}{i}-x" if i % 3 else f"{'team' if group else 'U'}{i}",
                user=f"{48000 + 7 * i}",
                file=("solution.py", "my solution (final).py", "lösung_1_2.py", "row_scale.py")[i % 4],
                late=i % 7 == 3,
                attempts=2 if i % 5 == 1 else 1,
                helper=i % 6 == 2,
                time=START + timedelta(minutes=31 * i),
                partner="Partner Pärchen" if group else "",
            )
        )
    return made


def make(layout: str, count: int, source: Callable[[Student], str], style: str = "") -> MadeClass:
    """A class of ``count`` students.

    Args:
        layout: A key of `STYLES`.
        count: How many students and groups.
        source: What each handed in at last.
        style: One of the layout's `STYLES`; the first when it is empty.
    """
    return write(layout, students(count), source, style)


def write(
    layout: str, members: Sequence[Student], source: Callable[[Student], str], style: str = ""
) -> MadeClass:
    """The same for given students, whose logins and numbers are different."""
    writers = {
        "canvas": _canvas,
        "moodle": _moodle,
        "gradescope": _gradescope,
        "blackboard": _blackboard,
        "brightspace": _brightspace,
        "classroom": _classroom,
        "plain": _plain,
    }
    made = writers[layout](members, source, style or STYLES[layout][0])
    return replace(made, litter=_LITTER)


def _canvas(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    for i, student in enumerate(members):
        name = _word(f"{student.last}, {student.first}" if student.last else student.first)
        late = "LATE_" if student.late else ""
        if style == "anonymous":
            code = _code(i)
            start, key, shown, number = f"{late}anon_{code}", f"anon_{code}", f"anon {code}", code
        else:
            start, key, shown = f"{name}_{late}{student.user}", student.user, _nfc(name)
            number = student.user
        for part, file in enumerate(student.files):
            stem, dot, ending = file.rpartition(".")
            again = f"-{student.attempts - 1}" if student.attempts > 1 else ""
            files[f"{start}_{910000 + 10 * i + part}_{stem}{again}{dot}{ending}"] = (
                HELPER if part else source(student)
            )
        person = Person(shown, platform_id=number)
        # Only the newest attempt is in the download.
        expected[key] = _expected(student, source, shown, (person,), late=student.late, attempts=1)
    return MadeClass("canvas", "submissions", files, (), expected)


def _moodle(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    for student in members:
        name = _moodle_name("Participant" if style == "blind" else student.name)
        login = f"{student.login}_" if style == "login" else ""
        folder = f"{name}_{student.user}_assignsubmission_file{'_' if style == 'old' else ''}"
        between = "_" if style == "flat" else "/"
        for part, file in enumerate(student.files):
            files[f"{login}{folder}{between}{file}"] = HELPER if part else source(student)
        shown = f"Participant {student.user}" if style == "blind" else _nfc(name)
        person = Person(shown, id=student.login if login else "", platform_id=student.user)
        expected[student.user] = _expected(
            student, source, shown, (person,), attempts=1, feedback=_nfc(folder)
        )
    return MadeClass("moodle", "MLM-Homework 1-4711", files, (), expected)


def _gradescope(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    mark = "" if style == "words" else ":"
    lines = ["---"]
    for i, student in enumerate(members):
        number = str(409000000 + 13 * i)
        folder = f"submission_{number}"
        for part, file in enumerate(student.files):
            files[f"{folder}/{file}"] = HELPER if part else source(student)
        people = [Person(_nfc(student.name), student.sid, f"{student.login}@school.example", number)]
        if student.partner:
            # The second member has no student number yet.
            address = f"partner-of-{student.login}@partner.example"
            people.append(Person(_nfc(student.partner), "", address, number))
        lines += [f"{folder}:", f"  {mark}submitters:"]
        names = [student.name, student.partner]
        for person, name in zip(people, names, strict=False):
            lines += [
                f"  - {mark}name: {_quoted(name)}",
                f"    {mark}sid: {_quoted(person.id)}" if person.id else f"    {mark}sid:",
                f"    {mark}email: {_quoted(person.email)}",
            ]
        time = student.time
        lines += [
            f"  {mark}created_at: {time:%Y-%m-%d %H:%M:%S}.861687000 -07:00",
            f"  {mark}score: 2.0",
            f"  {mark}status: processed",
            f"  {mark}results:",
            "    tests:",
            "    - name: check",
            "      output: 'Don''t worry about this",
            "        test.",
            "",
            "'",
            f"  {mark}history:",
        ]
        lines += [
            f"  - {mark}id: {j}\n    {mark}created_at: 2026-01-01 00:00:00 Z" for j in range(student.attempts)
        ]
        if i % 50 == 49:
            lines.append("...")
        key = "+".join(sorted(person.email.lower() for person in people))
        expected[key] = _expected(
            student,
            source,
            ", ".join(person.name for person in people),
            tuple(people),
            attempts=1,
            submitted_at=f"{time:%Y-%m-%dT%H:%M:%S}-07:00",
        )
    files["submission_metadata.yml"] = "\n".join((*lines, ""))
    return MadeClass("gradescope", "assignment_1234567_export", files, (), expected)


def _blackboard(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    for student in members:
        for time, newest in _times(student):
            start = f"{ASSIGNMENT}_{student.login}_attempt_{time:%Y-%m-%d-%H-%M-%S}"
            listed = []
            for part, file in enumerate(student.files):
                # Characters that some file systems refuse are lost on the way.
                stored = f"{start}_{file.replace('(', '').replace(')', '')}"
                text = (HELPER if part else source(student)) if newest else EARLIER
                files[stored] = text
                listed += [f"\tOriginal filename: {file}", f"\tFilename: {stored}", ""]
            files[f"{start}.txt"] = "\n".join(
                [
                    f"Name: {student.name} ({student.login})",
                    f"Assignment: {ASSIGNMENT}",
                    f"Date Submitted: {time:%A, %B %d, %Y %I:%M:%S %p} EST",
                    "Current Grade: Needs Grading",
                    "",
                    "Submission Field:",
                    "There is no student submission text data for this assignment.",
                    "",
                    "Comments:",
                    "There are no student comments for this assignment.",
                    "",
                    "Files:",
                    *listed,
                ]
            )
        person = Person(_nfc(student.name), id=student.login)
        expected[student.login] = _expected(
            student, source, person.name, (person,), submitted_at=student.time.isoformat()
        )
    return MadeClass("blackboard", "gradebook_MLM_Homework201_2026-10-07-12-00-00", files, (), expected)


def _brightspace(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files = {"index.html": "<html><body>Homework 1</body></html>"}
    expected = {}
    for student in members:
        feedback = ""
        for time, newest in _times(student):
            hour = f"{time.hour % 12 or 12}{time:%M} {time:%p}"
            written = f"{time:%b} {time.day}, {time.year} {hour}"
            if style == "german":
                written = f"{time.day}. {_GERMAN[time.month - 1]} {time.year} {time:%H%M}"
            folder = f"{student.user}-640693 - {student.name} - {written}"
            feedback = folder if newest else feedback
            between = " - " if style == "flat" else "/"
            for part, file in enumerate(student.files):
                text = (HELPER if part else source(student)) if newest else EARLIER
                files[f"{folder}{between}{file}"] = text
        person = Person(_nfc(student.name), platform_id=student.user)
        minute = student.time.replace(second=0).isoformat()
        expected[student.user] = _expected(
            student, source, person.name, (person,), submitted_at=minute, feedback=feedback
        )
    return MadeClass(
        "brightspace", "Homework 1 Download Oct 7, 2026 1159 PM", files, (), expected, ("index.html",)
    )


def _classroom(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    for student in members:
        folder = f"forward-pass-{student.login}"
        for part, file in enumerate(student.files):
            files[f"{folder}/{file}"] = HELPER if part else source(student)
        files[f"{folder}/README.md"] = "# Forward pass\n"
        files[f"{folder}/.github/classroom/autograding.json"] = "{}"
        person = Person(student.login, id=student.login)
        one = _expected(student, source, student.login, (person,), attempts=1)
        more = (".github/classroom/autograding.json", "README.md")
        expected[student.login.lower()] = replace(one, files=tuple(sorted((*one.files, *more))))
    name = "forward-pass-submissions" if style == "usual" else "week 3"
    return MadeClass("classroom", name, files, (), expected)


def _plain(members: Sequence[Student], source: Callable[[Student], str], style: str) -> MadeClass:
    files: dict[str, str] = {}
    expected = {}
    for student in members:
        name = f"{student.login}_{student.sid}"
        if style == "files":
            files[f"{name}.py"] = source(student)
            one = replace(student, file=f"{name}.py", helper=False)
            expected[f"{name}.py"] = _expected(one, source, name, (Person(name),), attempts=1)
        else:
            for part, file in enumerate(student.files):
                files[f"{name}/{file}"] = HELPER if part else source(student)
            expected[name] = _expected(student, source, name, (Person(name),), attempts=1)
    return MadeClass("plain", "week_3_hw_1", files, (), expected)


def _expected(
    student: Student,
    source: Callable[[Student], str],
    name: str,
    people: tuple[Person, ...],
    *,
    late: bool | None = None,
    submitted_at: str = "",
    attempts: int = 0,
    feedback: str = "",
) -> Expected:
    return Expected(
        name=name,
        people=people,
        file=student.file,
        text=source(student),
        files=tuple(sorted(student.files)),
        late=late,
        submitted_at=submitted_at,
        attempts=attempts or student.attempts,
        feedback=feedback,
    )


def _times(student: Student) -> list[tuple[datetime, bool]]:
    """When each attempt came, the newest first, and whether it is that."""
    return [(student.time - timedelta(minutes=7 * i), i == 0) for i in range(student.attempts)]


def _entry(name: str, path: str, text: str) -> Entry:
    data = text.encode()
    return Entry(path, len(data), None, lambda limit: data[: limit + 1], f"/downloads/{name}/{path}")


def _word(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M")


def _moodle_name(text: str) -> str:
    return "".join(c for c in text.replace("_", " ") if c not in "&<>\"`|':\\/" and c.isprintable())


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _code(number: int) -> str:
    letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    return "".join(letters[(number * 7919 + 31) // 58**i % 58] for i in range(5))
