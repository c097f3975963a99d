"""Rosters: who is in a class, by a list of the teacher's or a platform's own export."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.errors import GraderError
from grader.intake.submission import Submission
from grader.intake.tables import Table, plain, read_table
from grader.people import ListFile, Person, alike, ends_of, words_of

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
# What spreadsheets make of long numbers; and of numbers as fractions, or with their sign for text. Three
# zeros may be those of a thousand.
_ROUNDED = re.compile(r"[0-9](?:[.,][0-9]+)?E\+[0-9]+", re.IGNORECASE)
_SPREADSHEETS = re.compile(r"'?([0-9]+)(?:[.,]0{1,2})?")
_SHORTEST_ID = 4
MOST_NAMED = 5


@dataclass(frozen=True)
class Listed:
    """A person of a roster.

    Attributes:
        person: What is known of them.
        logins: All other names and numbers by which they are known.
        mailbox: What precedes the @ of their address: often a login, and often none.
        groups: The names of their groups.
        line: Where they stand in the file.
        last: Their family name, where the roster tells it apart.
    """

    person: Person
    logins: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    line: int = 0
    last: str = ""
    mailbox: str = ""


@dataclass(frozen=True)
class Roster:
    """A class.

    Attributes:
        shown: The file's path for people.
        listed: Everyone, in the order of the file.
        notes: Lines that name nobody, with the reason.
        problems: What can't be right in it.
        platform: The layout whose own ids it tells: ``canvas``, ``moodle``, ``gradescope``, or none.
    """

    shown: str
    listed: tuple[Listed, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    platform: str = ""

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


def read_roster(file: Path | ListFile) -> Roster:
    """The class in a CSV file: a list with usual names of columns, or the export of a platform's gradebook.

    Args:
        file: The file, or what it held when it was read.

    Raises:
        GraderError: The file can't be read, or names nobody.
    """
    table = read_table(file, KNOWN)
    path = table.shown
    columns = _columns(table)
    if not columns.keys() & {"name", "last", "first", "number", "login", "email", "platform", "participant"}:
        raise GraderError(
            f"{path}: found the columns {', '.join(map(repr, table.header))}; expected one that tells who it "
            "is, such as name, id, username or email"
        )
    listed: list[Listed] = []
    notes: list[str] = []
    problems: list[str] = []
    others = [at for at, name in enumerate(table.header) if plain(name) in COLUMNS["login"]]
    for line, row in table.rows:
        cells = {kind: row[at] for kind, at in columns.items()}
        found = _listed(cells, line, brightspace=_has(table, "orgdefinedid"), canvas=_is_canvas(table))
        if isinstance(found, Listed):
            # Whoever has one login for the university may have another for GitHub.
            logins = {row[at].removeprefix("#").casefold() for at in others} - {""}
            listed.append(replace(found, logins=found.logins | logins))
            problems += [f"{path}:{line}: {odd}" for odd in _odd(cells, row, len(table.header))]
        elif found:
            notes.append(f"{path}:{line}: {found}")
    if not listed:
        raise GraderError(f"{path} names nobody; expected a line for each student below the header")
    odd = next((one.person.name for one in listed if not one.person.name.isascii()), "")
    if table.guessed and odd:
        notes.append(
            f"{path} is no UTF-8 and was read as Windows-1252: are the accents right, as in {odd!r}? Who is "
            "misspelled is not found; export it as UTF-8"
        )
    merged, doubled = _merged(listed, path)
    return Roster(path, tuple(merged), tuple(notes), (*problems, *doubled), _platform(table, columns))


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


def _platform(table: Table, columns: Mapping[str, int]) -> str:
    """The layout whose own ids a table tells."""
    if "participant" in columns:
        return "moodle"
    if "platform" not in columns:
        return ""
    return "gradescope" if plain(table.header[columns["platform"]]) == "submissionid" else "canvas"


def _are_participants(cells: Sequence[str]) -> bool:
    """Whether a column is Moodle's: the same word before a number in every row."""
    if not cells or not all(_PARTICIPANT.fullmatch(cell) for cell in cells):
        return False
    return len({cell.rstrip("0123456789") for cell in cells}) == 1


def _listed(cells: Mapping[str, str], line: int, *, brightspace: bool, canvas: bool) -> Listed | str:
    """The person in a row; why there is none, or nothing for a row that is no student's by design."""

    def cell(kind: str) -> str:
        text = cells.get(kind, "")
        if kind not in ("number", "login", "platform"):
            return text
        if _ROUNDED.fullmatch(text):
            return ""
        # Brightspace marks texts so that spreadsheets keep their zeros.
        text = text.removeprefix("#") if brightspace else text
        found = _SPREADSHEETS.fullmatch(text)
        return found[1] if found else text

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
    # A row that another separator has filled.
    if not called.strip(";,|"):
        return "nobody is named in this line"
    logins = {login, email, number}
    mailbox = email.partition("@")[0].casefold() if "@" in email else ""
    groups = _group_names(cell("group"))
    person = Person(called, number or login, email, platform)
    known = frozenset(text.casefold() for text in logins if text)
    return Listed(person, known, groups, line, last, mailbox)


def _group_names(text: str) -> tuple[str, ...]:
    """The groups in a cell. Moodle puts commas between them, and a name may hold one itself."""
    names = text.split(";")
    if len(names) == 1 and "," in text:
        names += text.split(",")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _odd(cells: Mapping[str, str], row: Sequence[str], width: int) -> Iterator[str]:
    """What can't be right in a row, in words."""
    if any("\n" in cell for cell in cells.values()):
        yield "there is a line break in a cell, so that the lines below may be lost; is a quote not closed?"
    if any(row[width:]):
        yield f"the line has more cells than the header's {width}; is a comma in a name not within quotes?"
    if _ROUNDED.fullmatch(cells.get("number", "")):
        yield (
            f"the number {cells['number']} was rounded by a spreadsheet, so that nobody is known by it; "
            "format the column as text and export it again"
        )


def _merged(listed: Sequence[Listed], shown: str) -> tuple[list[Listed], list[str]]:
    """The same persons, each once: rosters name one twice who is in two groups or sections.

    Of one name, two numbers that differ only in the zeros before them are one.
    """
    kept: list[Listed] = []
    places: dict[Hashable, int] = {}
    problems = []
    for number, one in enumerate(listed):
        person = one.person
        key: Hashable = person.id or person.platform_id or person.email or number
        digits = _without_zeros(person.id)
        bare: Hashable = (digits, *_tokens(person.name)) if digits else key
        at = places.get(key)
        if at is None and bare in places and _may_be_one(kept[places[bare]].person, person):
            at = places[bare]
        if at is None:
            places[key] = len(kept)
            places.setdefault(bare, len(kept))
            kept.append(one)
        elif _tokens(kept[at].person.name) == _tokens(person.name):
            places.setdefault(key, at)
            kept[at] = _together(kept[at], one)
        else:
            before = kept[at]
            problems.append(
                f"{shown}:{one.line}: {person.name} has the id {key} of {before.person.name} (line "
                f"{before.line}), so that neither is known by it"
            )
            kept.append(one)
    return kept, problems


def _may_be_one(person: Person, other: Person) -> bool:
    """Whether nothing but the number could tell two of one name apart."""
    pairs = ((person.email, other.email), (person.platform_id, other.platform_id))
    return all(not a or not b or a.casefold() == b.casefold() for a, b in pairs)


def _together(one: Listed, again: Listed) -> Listed:
    """What two lines tell of one person."""
    person, other = one.person, again.person
    return replace(
        one,
        person=replace(
            person,
            id=max(person.id, other.id, key=len),
            email=person.email or other.email,
            platform_id=person.platform_id or other.platform_id,
        ),
        logins=one.logins | again.logins,
        groups=tuple(dict.fromkeys(one.groups + again.groups)),
        last=one.last or again.last,
        mailbox=one.mailbox or again.mailbox,
    )


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

    A person is known by the platform's own id where the roster has a column of it, by a number, a login or
    the email address, and by the name only where one person of the roster and one who handed in have it. A
    number that belongs to somebody of quite another name tells nobody.
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
    if finder.mailboxes:
        finder.notes.append(
            f"known by no more than what precedes the @ of an address: {_some(finder.mailboxes)}"
        )
    if finder.strangers:
        finder.notes.append(f"not on the roster {roster.shown}: {_some(finder.strangers)}")
    likely = [_told(roster.listed[at].person) for at in sorted(finder.likely - by.keys() - finder.unsure)]
    if likely:
        finder.notes.append(f"in doubt, as a word of the name is in one that is not known: {_some(likely)}")
    doubtful = finder.unsure | finder.likely
    missing = tuple(one.person for n, one in enumerate(roster.listed) if n not in by and n not in doubtful)
    return Matched(
        tuple(completed),
        missing,
        (*roster.notes, *finder.notes),
        (*roster.problems, *finder.problems),
    )


@dataclass(frozen=True)
class _Look:
    """Who of the roster a person may be.

    Attributes:
        places: Their places in the roster; one, and no doubt, when it is certain.
        by: What tells it: ``id``, ``number`` (but for zeros before it), ``word`` (a login in the name),
            ``name``, ``mailbox``, or nothing.
        doubt: Why it is not certain.
    """

    places: tuple[int, ...] = ()
    by: str = ""
    doubt: str = ""


@dataclass
class _Finder:
    roster: Roster
    submissions: Sequence[Submission]
    found: list[tuple[int, ...]] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    mailboxes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unsure: set[int] = field(default_factory=set)
    likely: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        listed = self.roster.listed
        self._platform = _index(listed, lambda one: [one.person.platform_id])
        self._logins = _index(listed, lambda one: one.logins)
        self._numbers = _index(listed, lambda one: map(_without_zeros, one.logins))
        self._mailboxes = _index(listed, lambda one: [one.mailbox])
        self._names = _index(listed, lambda one: [" ".join(_tokens(one.person.name))])
        self._glued = _index(listed, _glued)
        self._groups = _index(listed, lambda one: one.groups)
        self._glued_groups = _index(listed, lambda one: map(_glued_group, one.groups))
        self._words = _index(listed, lambda one: _telling(words_of(one.person.name)))
        self._begun = _index(listed, _ends_of_one)
        # Where no id is one of the roster's, the ids are of another kind and tell nothing.
        handed_in = [(person, one.layout) for one in self.submissions for person in _people(one)]
        self._same_ids = any(person.id.casefold() in self._logins for person, _ in handed_in)
        # How many who handed in lay claim to each person of the roster.
        self._claims: Counter[int] = Counter()
        for person, layout in handed_in:
            look = self._look(person, layout)
            if len(look.places) == 1 and not look.doubt:
                self._claims[look.places[0]] += 1

    def completed(self, submission: Submission) -> Submission:
        """A submission with what the roster tells of its people."""
        people: list[Person] = []
        found: list[int] = []
        handed_in = _people(submission)
        for person in handed_in:
            group = self._group(person.name) if len(handed_in) == 1 else []
            at = self._find(person, submission, group=bool(group))
            if at is not None:
                found.append(at)
                people.append(_complete(person, self.roster.listed[at].person))
            elif group:
                found += group
                people += [self.roster.listed[n].person for n in group]
            else:
                people.append(person)
        self.found.append(tuple(found))
        name = submission.name
        if len(handed_in) == 1 and len(people) == 1 and name == handed_in[0].name:
            name = people[0].name
        return replace(submission, name=name, people=tuple(people), members=tuple(p.name for p in people))

    def _group(self, name: str) -> list[int]:
        """The members of a group of that name, be it written without blanks and signs."""
        exact = self._groups.get(name.casefold(), [])
        if exact:
            return exact
        glued = _glued_group(name)
        places = self._glued_groups.get(glued, []) if glued else []
        names = {
            g.casefold() for at in places for g in self.roster.listed[at].groups if _glued_group(g) == glued
        }
        return places if len(names) == 1 else []

    def _find(self, person: Person, submission: Submission, *, group: bool) -> int | None:
        """The person's place in the roster; what can't be told is noted."""
        look = self._look(person, submission.layout)
        if group and (look.doubt or not look.places):
            # It is the name of a group, whatever number comes with it.
            return None
        doubt = look.doubt
        if not look.places:
            self.strangers.append(_told(person))
        elif len(look.places) == 1 and not doubt:
            doubt = self._rival(person, look)
        if look.places and not doubt:
            (at,) = look.places
            if look.by == "mailbox":
                self.mailboxes.append(f"{_told(person)} as {_told(self.roster.listed[at].person)}")
            return at
        if doubt:
            self.problems.append(f"{submission.id}: {_told(person)} {doubt}")
            self.unsure |= set(look.places)
        if look.by != "name":
            self.likely |= self._with_words_of(person.name)
        return None

    def _rival(self, person: Person, look: _Look) -> str:
        """Why somebody else may be the one whose name, or login within a name, that is."""
        (at,) = look.places
        one = self.roster.listed[at]
        other_id = self._same_ids and person.id and person.id.casefold() not in one.logins
        if look.by == "name" and other_id and one.person.id:
            return (
                f"has the name, but not the id of {_told(one.person)} of the roster, and is not taken for "
                "the same"
            )
        if look.by != "id" and self._claims[at] > 1:
            return (
                f"is not the only one: {self._claims[at]} who handed in may be {_told(one.person)} of the "
                "roster; it can't be told who is"
            )
        return ""

    def _look(self, person: Person, layout: str) -> _Look:
        """Who of the roster a person may be, each person looked at alone."""
        named = self._by_name(person)
        ids = self._by_ids(person, layout, named)
        if not ids.places:
            # Spreadsheets lose the zeros with which numbers begin.
            ids = self._by_number(person, named)
        if ids.places:
            return ids
        known = person.id or person.email or person.platform_id
        # The name of who is known by a place alone may be a login, or hold one.
        look = _Look() if known else self._by_words(person.name, named)
        if look.places:
            return look
        if named:
            return _Look(tuple(named), "name", self._several(named))
        look = self._by_mailbox(person, known)
        if look.places:
            return look
        other = self._logins.get(person.platform_id.casefold(), []) if person.platform_id else []
        if other and not self._is_own(person, layout):
            said = (
                f"has a number of the platform's that is one of {self._people(other)} of the roster; it "
                "can't be told whether the roster means the platform's numbers: name its column as the "
                "platform does, such as Canvas User ID"
            )
            return _Look(tuple(other), "id", said)
        return _Look()

    def _is_own(self, person: Person, layout: str) -> bool:
        """Whether the platform's id is of the kind that the roster has a column of."""
        anonymous = layout == "canvas" and person.name.startswith("anon ")
        return bool(self.roster.platform) and layout in (self.roster.platform, "plain") and not anonymous

    def _by_ids(self, person: Person, layout: str, named: Sequence[int]) -> _Look:
        """Who has the person's ids; in doubt where these or the name are somebody else's."""
        own = person.platform_id if self._is_own(person, layout) else ""
        asked = ((self._platform, own), (self._logins, person.id), (self._logins, person.email))
        known = [(text, places) for index, text in asked if text and (places := index.get(text.casefold()))]
        if not known:
            return _Look()
        common = set.intersection(*(set(places) for _, places in known))
        if not common:
            several = sorted({at for _, places in known for at in places})
            return _Look(tuple(several), "id", f"has ids of {self._people(several)} of the roster")
        if len(common) > 1:
            return _Look(tuple(sorted(common)), "id", self._several(sorted(common)))
        (at,) = common
        if named and at not in named:
            said = (
                f"has the id of {self._people([at])}, but the name of {self._people(named)} of the roster, "
                "and is taken for neither"
            )
            return _Look((at, *named), "id", said)
        numbers = all(text.isdigit() for text, _ in known)
        return _Look((at,), "id", self._of_another_name(person, at) if numbers and not named else "")

    def _by_number(self, person: Person, named: Sequence[int]) -> _Look:
        """Who has the person's number but for zeros before it."""
        places = self._numbers.get(_without_zeros(person.id), []) if person.id else []
        if not places or (named and not {*places} & {*named}):
            return _Look()
        both = [at for at in places if at in named] or places
        if len(both) > 1:
            return _Look(tuple(both), "number", self._several(both))
        (at,) = both
        return _Look((at,), "number", "" if named else self._of_another_name(person, at))

    def _of_another_name(self, person: Person, at: int) -> str:
        """What is said where only a number tells who somebody is, and the name another."""
        if _agree(person, self.roster.listed[at]):
            return ""
        return (
            f"has the number of {self._people([at])} of the roster, but no word of the name, and is not "
            "taken for the same"
        )

    def _by_words(self, name: str, named: Sequence[int]) -> _Look:
        """Who has a login or a number that is the name, or a word in it."""
        whole = self._logins.get(name.casefold(), [])
        if whole:
            both = sorted({*whole, *named})
            return _Look(tuple(both), "word", self._several(both))
        words = {word for word in re.split(r"[^\w.@-]+|[_/]", name.casefold()) if len(word) >= _SHORTEST_ID}
        words |= {word for word in re.split(r"[\W_]+", name.casefold()) if len(word) >= _SHORTEST_ID}
        # A word without a digit may be a name of somebody else's.
        words = {word for word in words if any(map(str.isdigit, word)) and word in self._logins}
        places = sorted({at for word in words for at in self._logins[word]})
        others = self._others(words_of(name), places) if places else set()
        both = sorted({*places, *others, *named} if places else ())
        return _Look(tuple(both), "word", self._several(both))

    def _by_mailbox(self, person: Person, known: str) -> _Look:
        """Who has an address that begins with the person's login."""
        login = person.id or ("" if known else person.name)
        places = self._mailboxes.get(login.casefold(), []) if login else []
        if not places:
            return _Look()
        both = sorted({*places, *self._others([*words_of(person.name), *words_of(login)], places)})
        doubt = self._several(both)
        if not doubt and not _agree(person, self.roster.listed[both[0]]):
            doubt = (
                f"has the login with which the address of {self._people(both)} of the roster begins, but no "
                "word of the name, and is not taken for the same"
            )
        return _Look(tuple(both), "mailbox", doubt)

    def _by_name(self, person: Person) -> list[int]:
        words = words_of(person.name)
        whole = self._names.get(" ".join(sorted(words)), [])
        if whole and len(words) > 1:
            return whole
        # One word is one name, or several without the blanks.
        return sorted({*whole, *self._glued.get("".join(words), [])})

    def _others(self, words: Iterable[str], places: Iterable[int]) -> set[int]:
        """Whose name has one of the words, which is in no name of those at the places."""
        own = {word for at in places for word in words_of(self.roster.listed[at].person.name)}
        return {at for word in _telling(words) if word not in own for at in self._words.get(word, [])}

    def _with_words_of(self, name: str) -> set[int]:
        """Whose name is like a name, as `alike` has it, without a look at everyone."""
        words = words_of(name)
        found = {at for word in _telling(words) for at in self._words.get(word, [])}
        if len(words) == 1:
            parts = {part for part in ends_of(words[0]) if len(part) > 2 or not part.isascii()}
            found |= {at for part in parts for at in self._words.get(part, [])}
        long = {word for word in words if len(word) > 2 or not word.isascii()}
        return found | {at for word in long for at in self._begun.get(word, [])}

    def _several(self, places: Sequence[int]) -> str:
        if len(places) < 2:
            return ""
        several = " or ".join(_told(self.roster.listed[at].person) for at in places[:MOST_NAMED])
        return f"may be {several} of the roster; it can't be told who, as nothing but this is known of them"

    def _people(self, places: Sequence[int]) -> str:
        return _some([_told(self.roster.listed[at].person) for at in places])


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
    number = _without_zeros(person.id)
    lost_zeros = number and number == _without_zeros(known.id) and len(person.id) > len(known.id)
    return Person(
        person.name if same or _is_nameless(known) else known.name,
        person.id if lost_zeros else known.id or person.id,
        known.email or person.email,
        person.platform_id or known.platform_id,
    )


def _tokens(name: str) -> list[str]:
    """The words of a name in the order of the alphabet."""
    return sorted(words_of(name))


def _telling(words: Iterable[str]) -> list[str]:
    """Words that are no initials."""
    return [word for word in words if len(word) > 1 or not word.isascii()]


def _ends_of_one(one: Listed) -> Iterable[str]:
    """What the name of one word begins and ends with."""
    words = words_of(one.person.name)
    return ends_of(words[0]) if len(words) == 1 else ()


def _agree(person: Person, one: Listed) -> bool:
    """Whether a name could be that of a person of the roster; it could where one of them tells none."""
    known = one.person
    if _is_nameless(person) or _is_nameless(known):
        return True
    return person.name.casefold() in {*one.logins, one.mailbox} or alike(person.name, known.name)


def _is_nameless(person: Person) -> bool:
    """Whether the name is only the login, the address, or a word and the number: ``Participant 88``."""
    name = person.name.casefold()
    ids = {person.id, person.email, person.email.partition("@")[0], person.platform_id}
    if not words_of(name) or name in {text.casefold() for text in ids}:
        return True
    return bool(person.platform_id) and name.endswith(person.platform_id.casefold())


def _without_zeros(number: str) -> str:
    """A number, or an id, without the zeros that it begins with; nothing of what is no number."""
    return number.lstrip("0") if number.isascii() and number.isdigit() else ""


def _glued_group(name: str) -> str:
    """A group's name as Canvas and GitHub write it, but for ``-``."""
    return "".join(words_of(name))


def _some(told: Sequence[str]) -> str:
    more = len(told) - MOST_NAMED
    return ", ".join(told[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _glued(one: Listed) -> list[str]:
    """A name written without blanks, the family name first, as Canvas does, or last."""
    words = words_of(one.person.name)
    family = words_of(one.last)
    if family and words[-len(family) :] == family:
        return ["".join(family + words[: -len(family)]), "".join(words)]
    # It isn't told where the family name begins.
    return ["".join(words[at:] + words[:at]) for at in range(len(words))]


def _told(person: Person) -> str:
    told = person.id or person.email or person.platform_id
    return f"{person.name} ({told})" if told and told != person.name else person.name
