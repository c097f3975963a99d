"""Rosters: who is in a class, by a list of the teacher's or a platform's own export."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.errors import GraderError
from grader.intake.submission import Submission
from grader.intake.tables import Table, plain, read_table
from grader.people import Person

# What columns are called, as `plain` writes it. Of several columns of a kind the first named here counts.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "number": (
        *("sisuserid", "orgdefinedid", "sid", "studentid", "studentnumber", "studentno", "studentnr"),
        *("matriculationnumber", "matrikelnummer", "matriculation", "matrnr", "matnr", "registrationnumber"),
        *(
            "universityid",
            "idnumber",
            "identifier",
            "idnummer",
            "idnum",
            "externalid",
            "userid",
            "id",
            "number",
        ),
        *("nummer", "numero", "numeroetudiant", "numerodidentification", "numerodeid", "nia", "legajo"),
    ),
    "login": (
        *(
            "sisloginid",
            "username",
            "loginid",
            "login",
            "netid",
            "userlogin",
            "accountname",
            "account",
            "user",
        ),
        *(
            "benutzername",
            "nutzername",
            "anmeldename",
            "kennung",
            "nomdutilisateur",
            "identifiantutilisateur",
        ),
        *("nombredeusuario", "githubusername", "github", "githublogin"),
    ),
    "email": (
        *("email", "emailaddress", "mail", "mailaddress", "emailadresse", "mailadresse", "adressedecourriel"),
        *("adresseemail", "adressemail", "courriel", "correo", "correoelectronico", "direcciondecorreo"),
    ),
    "name": (
        *("name", "fullname", "student", "studentname", "displayname", "person", "rostername"),
        *("vollstandigername", "nomcomplet", "nombrecompleto", "nomecompleto", "nometprenom"),
    ),
    "first": (
        *(
            "firstname",
            "first",
            "givenname",
            "givennames",
            "forename",
            "preferredname",
            "vorname",
            "vornamen",
        ),
        *("prenom", "nombre", "nombres", "nome"),
    ),
    "last": (
        *("lastname", "last", "surname", "familyname", "nachname", "familienname", "nomdefamille", "nom"),
        *("apellidos", "apellido", "apellidosyo", "cognome", "sobrenome"),
    ),
    "group": ("group", "groupname", "team", "teamname", "gruppe", "gruppenname", "groupe", "grupo", "groups"),
    "platform": ("canvasuserid", "submissionid"),
    "role": ("role", "rolle"),
}
KNOWN = frozenset(word for words in COLUMNS.values() for word in words)
# The column by which Moodle's grading worksheet knows a student: the word for participant, and a number.
_IDENTIFIERS = ("identifier", "id", "identifikator", "identifiant", "identificador")
_PARTICIPANT = re.compile(r"[^\W\d_]{5,}[^\d]*?(\d+)")
_STUDENT_ROLES = ("", "student", "learner", "participant", "teilnehmer", "teilnehmer/in", "s")
_SHORTEST_ID = 4
MOST_NAMED = 5


@dataclass(frozen=True)
class Listed:
    """A person of a roster.

    Attributes:
        person: What is known of them.
        logins: All other names and numbers by which they are known.
        groups: The names of their groups.
        line: Where they stand in the file.
        last: Their family name, where the roster tells it apart.
    """

    person: Person
    logins: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    line: int = 0
    last: str = ""


@dataclass(frozen=True)
class Roster:
    """A class.

    Attributes:
        shown: The file's path for people.
        listed: Everyone, in the order of the file.
        notes: Lines that name nobody, with the reason.
        problems: What can't be right in it.
    """

    shown: str
    listed: tuple[Listed, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def people(self) -> tuple[Person, ...]:
        """Everyone, in the order of the file."""
        return tuple(one.person for one in self.listed)

    @property
    def groups(self) -> dict[str, tuple[Person, ...]]:
        """The members of each group."""
        found: defaultdict[str, list[Person]] = defaultdict(list)
        for one in self.listed:
            for group in one.groups:
                found[group].append(one.person)
        return {group: tuple(people) for group, people in found.items()}


def read_roster(path: Path) -> Roster:
    """The class in a CSV file: a list with usual names of columns, or the export of a platform's gradebook.

    Raises:
        GraderError: The file can't be read, or names nobody.
    """
    table = read_table(path, KNOWN)
    columns = _columns(table)
    if not columns.keys() & {"name", "last", "first", "number", "login", "email", "platform", "participant"}:
        raise GraderError(
            f"{path}: found the columns {', '.join(map(repr, table.header))}; expected one that tells who it "
            "is, such as name, id, username or email"
        )
    listed: list[Listed] = []
    notes: list[str] = []
    for line, row in table.rows:
        cells = {kind: row[at] for kind, at in columns.items()}
        found = _listed(cells, line, brightspace=_has(table, "orgdefinedid"), canvas=_is_canvas(table))
        if isinstance(found, Listed):
            listed.append(found)
        elif found:
            notes.append(f"{path}:{line}: {found}")
    if not listed:
        raise GraderError(f"{path} names nobody; expected a line for each student below the header")
    merged, problems = _merged(listed, str(path))
    return Roster(str(path), tuple(merged), tuple(notes), tuple(problems))


# --- columns and rows ---------------------------------------------------------------------------


def _has(table: Table, *names: str) -> bool:
    return {plain(name) for name in table.header} >= set(names)


def _is_canvas(table: Table) -> bool:
    names = {plain(name) for name in table.header}
    return {"student", "id"} <= names and bool(names & {"sisuserid", "sisloginid", "section"})


def _columns(table: Table) -> dict[str, int]:
    """The place of each kind of column."""
    names = [plain(name) for name in table.header]
    places = {name: at for at, name in reversed(list(enumerate(names)))}
    found = {
        kind: next(places[word] for word in words if word in places)
        for kind, words in COLUMNS.items()
        if any(word in places for word in words)
    }
    if _is_canvas(table):
        found["platform"] = places["id"]
        if "sisuserid" in places:
            found["number"] = places["sisuserid"]
        else:
            found.pop("number", None)
    for word in _IDENTIFIERS:
        at = places.get(word)
        if at is not None and _are_participants([row[at] for _, row in table.rows]):
            found["participant"] = at
            if found.get("number") == at:
                others = [w for w in COLUMNS["number"] if w in places and places[w] != at]
                found.pop("number")
                found |= {"number": places[others[0]]} if others else {}
            break
    if "first" in found and "last" not in found and "name" in found:
        found["last"] = found.pop("name")
    return found


def _are_participants(cells: Sequence[str]) -> bool:
    """Whether a column is Moodle's: the same word before a number in every row."""
    if not cells or not all(_PARTICIPANT.fullmatch(cell) for cell in cells):
        return False
    return len({cell.rstrip("0123456789") for cell in cells}) == 1


def _listed(cells: Mapping[str, str], line: int, *, brightspace: bool, canvas: bool) -> Listed | str:
    """The person in a row; why there is none, or nothing for a row that is no student's by design."""

    def cell(kind: str) -> str:
        text = cells.get(kind, "")
        # Brightspace marks texts so that spreadsheets keep their zeros.
        return text.removeprefix("#") if brightspace and kind in ("number", "login") else text

    name = cell("name")
    if canvas and (
        name.startswith(("Points Possible", "Manual Posting"))
        or (not cell("platform") and not cell("number") and not cell("login"))
        or (name == "Student, Test" and not cell("number"))
    ):
        return ""
    if cell("role").lower() not in _STUDENT_ROLES:
        return f"{cell('role')!r} is no student's role"
    first, last = cell("first"), cell("last")
    if first or last:
        name = f"{first} {last}".strip()
    elif name.count(",") == 1:
        last, first = (part.strip() for part in name.split(","))
        name = f"{first} {last}".strip()
    number, login, email, platform = cell("number"), cell("login"), cell("email"), cell("platform")
    if found := _PARTICIPANT.fullmatch(cell("participant")):
        platform = found[1]
        name = name or cell("participant")
    if not email and "@" in login:
        email = login
    called = name or login or number or email or platform
    if not called:
        return "nobody is named in this line"
    logins = {login, email, number, *([email.partition("@")[0]] if "@" in email else [])}
    groups = tuple(part.strip() for part in cell("group").split(";") if part.strip())
    person = Person(called, number or login, email, platform)
    return Listed(person, frozenset(text.casefold() for text in logins if text), groups, line, last)


def _merged(listed: Sequence[Listed], shown: str) -> tuple[list[Listed], list[str]]:
    """The same persons, each once: rosters name one twice who is in two groups or sections."""
    kept: dict[Hashable, Listed] = {}
    problems = []
    for number, one in enumerate(listed):
        person = one.person
        key: Hashable = person.id or person.platform_id or person.email or number
        before = kept.get(key)
        if before is None:
            kept[key] = one
        elif _tokens(before.person.name) == _tokens(person.name):
            groups = tuple(dict.fromkeys(before.groups + one.groups))
            kept[key] = replace(before, groups=groups, logins=before.logins | one.logins)
        else:
            problems.append(
                f"{shown}:{one.line}: {person.name} has the id {key} of {before.person.name} (line "
                f"{before.line}), so that neither is known by it"
            )
            kept[(key, number)] = one
    return list(kept.values()), problems


# --- who is who ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matched:
    """Submissions and a roster, put together.

    Attributes:
        submissions: With what the roster tells of their people.
        missing: Who of the roster handed in nothing.
        notes: Who handed in and is not on the roster, and whatever else is odd.
        problems: Who can't be told apart; they are not among the missing.
    """

    submissions: tuple[Submission, ...]
    missing: tuple[Person, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def match(roster: Roster, submissions: Sequence[Submission]) -> Matched:
    """Who of a roster handed in what.

    A person is known by the platform's id, then by a number or login, then by the email address, and by the
    name only where one person of the roster and one who handed in have it.
    """
    finder = _Finder(roster, submissions)
    completed = [finder.completed(submission) for submission in submissions]
    by: defaultdict[int, list[str]] = defaultdict(list)
    for submission, found in zip(submissions, finder.found, strict=True):
        for one in found:
            by[one].append(submission.id)
    for one, ids in by.items():
        if len(ids) > 1:
            person = roster.listed[one].person
            finder.notes.append(f"{_told(person)} has {len(ids)} submissions: {', '.join(ids[:MOST_NAMED])}")
    if finder.strangers:
        named = ", ".join(finder.strangers[:MOST_NAMED])
        more = len(finder.strangers) - MOST_NAMED
        finder.notes.append(
            f"not on the roster {roster.shown}: {named}" + (f" and {more} more" if more > 0 else "")
        )
    missing = tuple(
        one.person for n, one in enumerate(roster.listed) if n not in by and n not in finder.unsure
    )
    return Matched(
        tuple(completed),
        missing,
        (*roster.notes, *finder.notes),
        (*roster.problems, *finder.problems),
    )


@dataclass
class _Finder:
    roster: Roster
    submissions: Sequence[Submission]
    found: list[tuple[int, ...]] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unsure: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        listed = self.roster.listed
        self._platform = _index(listed, lambda one: [one.person.platform_id])
        self._logins = _index(listed, lambda one: one.logins)
        self._names = _index(listed, lambda one: [" ".join(_tokens(one.person.name))])
        self._glued = _index(listed, _glued)
        self._groups = _index(listed, lambda one: one.groups)
        # Where no id is one of the roster's, the ids are of another kind and tell nothing.
        handed_in = [person for submission in self.submissions for person in _people(submission)]
        self._same_ids = any(person.id.casefold() in self._logins for person in handed_in)
        # How many who handed in lay claim to each person of the roster, by ids or by the name.
        self._claims: Counter[int] = Counter()
        for person in handed_in:
            places = self._by_id(person) or self._by_name(person)
            if len(places) == 1:
                self._claims[places[0]] += 1

    def completed(self, submission: Submission) -> Submission:
        """A submission with what the roster tells of its people."""
        people: list[Person] = []
        found: list[int] = []
        handed_in = _people(submission)
        for person in handed_in:
            at = self._find(person, submission)
            if at is not None:
                found.append(at)
                people.append(_complete(person, self.roster.listed[at].person))
                continue
            group = self._groups.get(person.name.casefold(), [])
            if group and len(handed_in) == 1:
                found += group
                people += [self.roster.listed[n].person for n in group]
                continue
            people.append(person)
        self.found.append(tuple(found))
        name = submission.name
        if len(handed_in) == 1 and len(people) == 1 and name == handed_in[0].name:
            name = people[0].name
        return replace(submission, name=name, people=tuple(people), members=tuple(p.name for p in people))

    def _find(self, person: Person, submission: Submission) -> int | None:
        """The person's place in the roster; what can't be told is noted."""
        places = self._by_id(person)
        if len(places) == 1:
            return places[0]
        named = [] if places else self._by_name(person)
        if len(places or named) > 1:
            several = " or ".join(
                _told(self.roster.listed[at].person) for at in (places or named)[:MOST_NAMED]
            )
            self._doubt(
                f"{submission.id}: {_told(person)} may be {several} of the roster; it can't be told who, as "
                "nothing but this is known of them",
                places or named,
            )
            return None
        if not named:
            if not self._groups.get(person.name.casefold()):
                self.strangers.append(_told(person))
            return None
        one = self.roster.listed[named[0]]
        if self._same_ids and person.id and one.person.id and person.id.casefold() not in one.logins:
            self._doubt(
                f"{submission.id}: {_told(person)} has the name, but not the id of {_told(one.person)} of "
                "the roster, and is not taken for the same",
                named,
            )
            return None
        if self._claims[named[0]] > 1:
            self._doubt(
                f"{submission.id}: {self._claims[named[0]]} who handed in may be {_told(one.person)} of the "
                f"roster; it can't be told whether {_told(person)} is",
                named,
            )
            return None
        return named[0]

    def _doubt(self, said: str, places: list[int]) -> None:
        self.problems.append(said)
        self.unsure |= set(places)

    def _by_id(self, person: Person) -> list[int]:
        """Who of the roster has the person's ids: one, several, or none."""
        for index, text in (
            (self._platform, person.platform_id),
            (self._logins, person.id),
            (self._logins, person.email),
            # A list of the teacher's own may know students by the platform's numbers.
            ({} if self._platform else self._logins, person.platform_id),
        ):
            places = index.get(text.casefold(), []) if text else []
            if places:
                return places
        # The name of who is known by a place alone may be a login, or hold one.
        known = person.id or person.email or person.platform_id
        return [] if known else self._by_words(person.name)

    def _by_words(self, name: str) -> list[int]:
        """Who has a login or a number that is the name, or a word in it."""
        whole = self._logins.get(name.casefold(), [])
        if whole:
            return whole
        words = {word for word in re.split(r"[^\w.@-]+|[_/]", name.casefold()) if len(word) >= _SHORTEST_ID}
        words |= {word for word in re.split(r"[\W_]+", name.casefold()) if len(word) >= _SHORTEST_ID}
        # A word without a digit may be a name of somebody else's.
        return sorted({at for w in words if any(map(str.isdigit, w)) for at in self._logins.get(w, [])})

    def _by_name(self, person: Person) -> list[int]:
        words = _tokens(person.name)
        return self._names.get(" ".join(words), []) or self._glued.get("".join(_words(person.name)), [])


def _index(listed: Iterable[Listed], keys: Callable[[Listed], Iterable[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, one in enumerate(listed):
        for key in {key.casefold() for key in keys(one) if key}:
            found.setdefault(key, []).append(at)
    return found


def _people(submission: Submission) -> tuple[Person, ...]:
    return (
        submission.people or tuple(Person(name) for name in submission.members) or (Person(submission.name),)
    )


def _complete(person: Person, known: Person) -> Person:
    """What both tell of a person."""
    same = _tokens(person.name) == _tokens(known.name)
    return Person(
        person.name if same else known.name,
        known.id or person.id,
        known.email or person.email,
        person.platform_id or known.platform_id,
    )


def _tokens(name: str) -> list[str]:
    """The words of a name in the order of the alphabet."""
    return sorted(_words(name))


def _words(name: str) -> list[str]:
    """The words of a name, without accents and capitals."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", bare)


def _glued(one: Listed) -> list[str]:
    """A name written without blanks, the family name first, as Canvas does, or last."""
    words = _words(one.person.name)
    family = _words(one.last)
    if family and words[-len(family) :] == family:
        return ["".join(family + words[: -len(family)]), "".join(words)]
    # It isn't told where the family name begins.
    return ["".join(words[at:] + words[:at]) for at in range(len(words))]


def _told(person: Person) -> str:
    told = person.id or person.email or person.platform_id
    return f"{person.name} ({told})" if told and told != person.name else person.name
