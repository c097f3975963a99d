"""Rosters: every usual export is read, ids stay texts, and nobody is taken for somebody else."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.intake.roster import Roster, _Finder, match, read_roster
from grader.intake.submission import Submission
from grader.people import Person, alike, words_of


def roster(tmp_path: Path, text: str | bytes, encoding: str = "utf-8") -> Roster:
    path = tmp_path / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return read_roster(path)


def people(*rows: tuple[str, ...]) -> tuple[Person, ...]:
    return tuple(Person(*row) for row in rows)


CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,HW 1 (123)
    Points Possible,,,,,10
,,,,,Manual Posting
"Ash, Ann",501,000123,ann@x.org,"A and B",
"Ash, Ann",502,000124,ash2,A,9
"Student, Test",599,,abc123,A,
"""
BRIGHTSPACE = """\
OrgDefinedId,Username,Last Name,First Name,Email,HW Points Grade <Numeric>,End-of-Line Indicator
#000123,#ann.ash,Ash,Ann,a@x.org,,#
"""


# --- exports ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name,id\nAnn Ash,007\n", people(("Ann Ash", "007"))),
        ("Name;Matrikelnummer;E-Mail\nZoë Öl;0012;z@x.org\n", people(("Zoë Öl", "0012", "z@x.org"))),
        ("Vorname\tNachname\tE-Mail-Adresse\nZoë\tÖl\tz@x.org\n", people(("Zoë Öl", "", "z@x.org"))),
        ("Vorname,Name\nZoë,Öl\n", people(("Zoë Öl",))),
        ("first name,last name,student number\nAnn,Ash,1\n", people(("Ann Ash", "1"))),
        ('student\n"Ash, Ann"\n', people(("Ann Ash",))),
        ("username\nann\n", people(("ann", "ann"))),
        ("email\nann@x.org\n", people(("ann@x.org", "", "ann@x.org"))),
        ("id|name\n1|Ann\n", people(("Ann", "1"))),
        ('sep=;\nname;id\nAnn;="0012"\n', people(("Ann", "0012"))),
        ("Class of 2026,,\n,,\nname,id,email\nAnn,1,\n", people(("Ann", "1"))),
        ("name,id\r\n\r\nAnn,1\r\n,\r\nBob,2", people(("Ann", "1"), ("Bob", "2"))),
        # Canvas' gradebook
        (
            CANVAS,
            people(("Ann Ash", "000123", "ann@x.org", "501"), ("Ann Ash", "000124", "", "502")),
        ),
        ('Student,ID,Section\n"Ash, Ann",501,A\n', people(("Ann Ash", "", "", "501"))),
        # Moodle's grading worksheet, with names and with blind marking
        (
            "Identifier,Full name,Email address,Status,Grade\nParticipant 88,Ann Ash,a@x.org,Submitted,-\n",
            people(("Ann Ash", "", "a@x.org", "88")),
        ),
        (
            "Identifier,Full name,ID number,Email address\nParticipant 88,Ann Ash,0042,a@x.org\n",
            people(("Ann Ash", "0042", "a@x.org", "88")),
        ),
        (
            "Identifier,Status\nParticipant 88,x\nParticipant 89,x\n",
            people(("Participant 88", "", "", "88"), ("Participant 89", "", "", "89")),
        ),
        (
            "Identifikator,Vollständiger Name,E-Mail-Adresse\nTeilnehmer/in 88,Ann Ash,a@x.org\n",
            people(("Ann Ash", "", "a@x.org", "88")),
        ),
        # Brightspace
        (
            BRIGHTSPACE,
            people(("Ann Ash", "000123", "a@x.org")),
        ),
        # Gradescope
        (
            "Name,SID,Email,Role\nAnn Ash,0123,a@x.org,Student\nDr. B,,b@x.org,Instructor\n",
            people(("Ann Ash", "0123", "a@x.org")),
        ),
        (
            "First Name,Last Name,SID,Email,Sections,Submission ID\nAnn,Ash,0123,a@x.org,,777\n",
            people(("Ann Ash", "0123", "a@x.org", "777")),
        ),
        # Blackboard
        (
            '"Last Name"\t"First Name"\t"Username"\t"Student ID"\n"Ash"\t"Ann"\t"aash"\t"0123"\n',
            people(("Ann Ash", "0123")),
        ),
        ("name,id\nAnn\u200b,'0012\nBob,\ufeff13.0\n;\n", people(("Ann", "0012"), ("Bob", "13"))),
        # A mark of thousands is no point.
        ('name,id\nAnn,12.000\nBob,"13,00"\n', people(("Ann", "12.000"), ("Bob", "13"))),
        # GitHub Classroom
        ("identifier,github_username,github_id,name\ns1,annash,99,\n", people(("annash", "s1"))),
    ],
)
def test_usual_lists_and_exports_are_read(tmp_path: Path, text: str, found: tuple[Person, ...]) -> None:
    assert roster(tmp_path, text).people == found
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        assert roster(tmp_path, text, encoding).people == found
    if text.encode("cp1252", "replace").decode("cp1252") == text:
        assert roster(tmp_path, text, "cp1252").people == found


# What spreadsheets write for a number, and signs that nobody sees, are in tests of their own.
SPREADSHEETS = re.compile(r"=.*|#.*|'?[0-9]+[.,]?0*|[0-9]([.,][0-9]+)?[eE]\+[0-9]+|[;|]+", re.DOTALL)
CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Z"]), min_size=1, max_size=12).filter(
    lambda text: "," not in text and (text.isdigit() or not SPREADSHEETS.fullmatch(text))
)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6, unique_by=lambda row: row[1].casefold()))
def test_names_and_ids_come_out_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    for separator in ",;\t":
        out = io.StringIO()
        csv.writer(out, delimiter=separator).writerows([("name", "student number"), *rows])
        found = roster(tmp_path_factory.mktemp("r"), out.getvalue())
        assert [(p.name, p.id) for p in found.people] == rows


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            b"",
            "expected a line that names the columns, such as name,id,email; the file is empty",
        ),
        (b"Ann Ash,17\nBob,18\n", "the first line is 'Ann Ash,17'"),
        (b"name,id\n", "names nobody; expected a line for each student below the header"),
        (b"group,role\nA,Student\n", "found the columns 'group', 'role'; expected one that tells who it is"),
        (b"\0" * 18, "is no text; expected a CSV file, saved as UTF-8"),
        (b'name,id\n"' + b"x" * 200_000, "this is no CSV: field larger than field limit"),
    ],
)
def test_what_is_no_roster_is_refused_with_what_was_expected(tmp_path: Path, raw: bytes, said: str) -> None:
    with pytest.raises(GraderError, match=r"roster\.csv") as told:
        roster(tmp_path, raw)
    assert said in str(told.value)


def test_a_roster_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"gone.csv: The file can't be read: No such file"):
        read_roster(tmp_path / "gone.csv")


def test_lines_that_name_nobody_are_told(tmp_path: Path) -> None:
    found = roster(tmp_path, "name,id,role,group\nAnn,1,Student,A\n,,Student,B\nDr. Z,9,TA,\n")
    assert [p.name for p in found.people] == ["Ann"]
    assert found.notes == (
        f"{tmp_path / 'roster.csv'}:3: nobody is named in this line",
        f"{tmp_path / 'roster.csv'}:4: 'TA' is no student's role",
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('name,id\nAnn,"1\nBob,2\n', 3, "a line break in a cell"),
        ("name,id\nAsh, Ann,1\n", 2, "more cells than the header's 2"),
        ("name,id\nAnn,1.23457E+11\nBob,1.23457E+11\n", 2, "the number 1.23457E+11 was rounded"),
        ("name,id\nAnn,1\nBob,1,23E+11\n", 3, "more cells than the header's 2"),
    ],
)
def test_what_can_not_be_right_in_a_line_is_a_problem(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    found = roster(tmp_path, text)
    assert found.problems[0].startswith(f"{tmp_path / 'roster.csv'}:{line}: ")
    assert said in found.problems[0]
    assert not any("E+" in person.id for person in found.people)


def test_a_guessed_encoding_is_noted_where_it_matters(tmp_path: Path) -> None:
    text = "name,id\nAnn Ash,1\nJosé Öl,2\n"
    (note,) = roster(tmp_path, text, "mac_roman").notes
    assert "was read as Windows-1252: are the accents right, as in 'JosŽ …l'?" in note
    assert len(roster(tmp_path, text, "cp1252").notes) == 1
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le"):
        assert roster(tmp_path, text, encoding).notes == ()
    assert roster(tmp_path, b"name,id,\xe9\nAnn Ash,1,\n").notes == ()


def test_empty_cells_beyond_the_header_are_nothing(tmp_path: Path) -> None:
    assert roster(tmp_path, "name,id\nAnn,1,,\n").problems == ()


def test_who_is_named_twice_is_one_person_in_two_groups(tmp_path: Path) -> None:
    found = roster(tmp_path, "name,id,group\nAnn,1,A\nBob,2,A\nAnn,1,B\nCid,3,A; B\n")
    assert [p.name for p in found.people] == ["Ann", "Bob", "Cid"]
    assert {group: [p.name for p in members] for group, members in found.groups.items()} == {
        "A": ["Ann", "Bob", "Cid"],
        "B": ["Ann", "Cid"],
    }


@pytest.mark.parametrize("order", [1, -1])
def test_of_one_name_two_numbers_that_differ_in_zeros_are_one_person(tmp_path: Path, order: int) -> None:
    rows = ["Ann Ash,0012,,A", "Ann Ash,12,a@x.org,B", "Ann Ash,012,,A"][::order]
    whole = roster(tmp_path, "name,id,email,group\n" + "\n".join([*rows, "Bob,3,,", "Cid Ash,000012,,"]))
    ann = Person("Ann Ash", "0012", "a@x.org")
    assert whole.people == (ann, Person("Bob", "3"), Person("Cid Ash", "000012"))
    assert set(whole.groups) == {"A", "B"}
    for number in ("12", "0012", "00012"):
        matched = match(whole, [handed("x", Person("Ann Ash", number))])
        assert [p.name for p in matched.missing] == ["Bob", "Cid Ash"]


def test_one_id_for_two_names_is_a_problem(tmp_path: Path) -> None:
    found = roster(tmp_path, "name,id\nAnn,1\nBob,1\n")
    assert [p.name for p in found.people] == ["Ann", "Bob"]
    assert found.problems == (
        f"{tmp_path / 'roster.csv'}:3: Bob has the id 1 of Ann (line 2), so that neither is known by it",
    )
    matched = match(found, [handed("x", Person("?", id="1"))])
    assert len(matched.problems) == 2
    assert matched.missing == ()


# --- who is who -------------------------------------------------------------------------------


def handed(identifier: str, *who: Person, name: str = "") -> Submission:
    return Submission(
        identifier,
        name or who[0].name,
        f"{identifier}.py",
        "",
        "",
        members=tuple(p.name for p in who),
        people=who,
    )


def of(layout: str, one: Submission) -> Submission:
    return replace(one, layout=layout)


CLASS = (
    "name,id,email,username\nAnn Ash,001,ann@x.org,aash\nBob Birch,002,bob@x.org,bbir\n"
    "Jane Doe,003,jd1@x.org,jdoe1\nJane Doe,004,jd2@x.org,jdoe2\nZoë van der Öl,005,z@x.org,zoel\n"
)
ANN = Person("Ann Ash", "001", "ann@x.org")
ZOE = Person("Zoë van der Öl", "005", "z@x.org")


@pytest.mark.parametrize(
    ("person", "known"),
    [
        (Person("001", id="001"), ANN),
        (Person("Ann-Sophie Ash", id="001"), ANN),
        (Person("anything", id="001", email="ann@x.org"), ANN),
        (Person("anything", id="AASH"), ANN),
        (Person("anything", email="Ann@X.org"), ANN),
        (Person("ann"), ANN),
        (Person("aash"), ANN),
        (Person("aash", id="aash"), ANN),
        (Person("ANN ASH"), ANN),
        (Person("Ash, Ann"), ANN),
        (Person("ash_ann"), ANN),
        (Person("ashann", platform_id="999"), Person("Ann Ash", "001", "ann@x.org", "999")),
        (Person("annash"), ANN),
        (Person("vanderölzoë"), ZOE),
        (Person("zoe van der ol"), ZOE),
        (Person("Zoe\u0308 van der O\u0308l"), Person("Zoe\u0308 van der O\u0308l", "005", "z@x.org")),
        (Person("hw3_jdoe2"), Person("Jane Doe", "004", "jd2@x.org")),
        (Person("Jane Doe", email="jd2@x.org"), Person("Jane Doe", "004", "jd2@x.org")),
    ],
)
def test_a_person_is_known_by_ids_first_and_then_by_a_name_of_their_own(
    tmp_path: Path, person: Person, known: Person
) -> None:
    matched = match(roster(tmp_path, CLASS), [handed("x", person)])
    (one,) = matched.submissions
    assert one.people[0].id == known.id
    assert one.people[0].email == known.email
    assert one.people[0].platform_id == known.platform_id
    assert len(matched.missing) == 4
    assert known.id not in {p.id for p in matched.missing}
    assert matched.problems == ()
    assert one.members == (one.people[0].name,)


def test_a_name_that_is_not_the_persons_own_is_replaced_by_the_one_that_is(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    (one,) = match(whole, [handed("x", Person("ashann", id="001"))]).submissions
    assert (one.name, one.members) == ("Ann Ash", ("Ann Ash",))
    (same,) = match(whole, [handed("x", Person("Ash, Ann", id="001"))]).submissions
    assert same.name == "Ash, Ann"


def test_two_of_one_name_are_never_taken_for_each_other(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    matched = match(whole, [handed("a", Person("Jane Doe"))])
    assert matched.submissions[0].people == (Person("Jane Doe"),)
    (problem,) = matched.problems
    assert "a: Jane Doe may be Jane Doe (003) or Jane Doe (004)" in problem
    # Nobody is told as missing who may have handed in.
    assert [p.id for p in matched.missing] == ["001", "002", "005"]
    both = match(
        whole, [handed("a", Person("Jane Doe", id="004")), handed("b", Person("Jane Doe", id="003"))]
    )
    assert [s.people[0].email for s in both.submissions] == ["jd2@x.org", "jd1@x.org"]
    assert both.problems == ()


def test_two_who_handed_in_under_one_name_of_the_roster_are_told(tmp_path: Path) -> None:
    matched = match(roster(tmp_path, CLASS), [handed("a", Person("Ann Ash")), handed("b", Person("ash ann"))])
    assert [s.people[0].id for s in matched.submissions] == ["", ""]
    assert len(matched.problems) == 2
    assert "2 who handed in may be Ann Ash (001) of the roster" in matched.problems[0]
    assert ANN not in matched.missing


def test_the_name_of_somebody_with_another_id_is_not_enough(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    others = [handed("a", Person("Ann Ash", id="777")), handed("b", Person("Bob Birch", id="002"))]
    matched = match(whole, others)
    assert matched.submissions[0].people == (Person("Ann Ash", "777"),)
    assert "has the name, but not the id of Ann Ash (001)" in matched.problems[0]
    assert ANN not in matched.missing
    # Where no id is one of the roster's, they are of another kind and tell nothing.
    matched = match(
        whole, [handed("a", Person("Ann Ash", id="777")), handed("b", Person("Bob Birch", id="778"))]
    )
    assert [s.people[0].id for s in matched.submissions] == ["001", "002"]
    assert matched.problems == ()


def test_a_platforms_number_is_no_students_number(tmp_path: Path) -> None:
    text = 'Student,ID,SIS User ID,Section\n"Ash, Ann",501,777,A\n"Birch, Bob",777,501,A\n'
    matched = match(roster(tmp_path, text), [handed("a", Person("birchbob", platform_id="777"))])
    assert matched.submissions[0].people == (Person("Bob Birch", "501", "", "777"),)
    assert [p.name for p in matched.missing] == ["Ann Ash"]
    # A list of the teacher's own may use the platform's numbers, or others: that can't be told.
    matched = match(
        roster(tmp_path, "name,id\nAnn,501\nBob,777\n"), [handed("a", Person("x", platform_id="777"))]
    )
    assert matched.submissions[0].people == (Person("x", "", "", "777"),)
    assert [p.name for p in matched.missing] == ["Ann"]
    assert "a number of the platform's that is one of Bob (777)" in matched.problems[0]
    # Its own column says what they are.
    whole = roster(tmp_path, "name,Canvas User ID\nAnn,501\nBob,777\n")
    matched = match(whole, [of("canvas", handed("a", Person("bob", platform_id="777")))])
    assert (matched.submissions[0].name, matched.problems) == ("bob", ())
    assert [p.name for p in matched.missing] == ["Ann"]
    # Another platform's number is not meant.
    matched = match(whole, [of("moodle", handed("a", Person("Di Ek", platform_id="777")))])
    assert matched.submissions[0].people == (Person("Di Ek", "", "", "777"),)
    assert len(matched.missing) == 2


@pytest.mark.parametrize("layout", ["canvas", "moodle"])
def test_names_go_before_a_platforms_numbers_that_are_those_of_others(tmp_path: Path, layout: str) -> None:
    whole = roster(tmp_path, "id,name\n1001,Ann Ames\n1002,Bob Bell\n1003,Cy Cole\n")
    ann, bob = ("amesann", "bellbob") if layout == "canvas" else ("Ann Ames", "Bob Bell")
    some = [handed("a", Person(ann, platform_id="1002")), handed("b", Person(bob, platform_id="1001"))]
    matched = match(whole, [of(layout, one) for one in some])
    assert [one.people[0].id for one in matched.submissions] == ["1001", "1002"]
    assert (matched.problems, [p.name for p in matched.missing]) == ((), ["Cy Cole"])


def test_a_number_of_somebody_of_another_name_is_a_doubt(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    matched = match(whole, [handed("a", Person("Bob Birch", id="001")), handed("b", Person("Zed", id="005"))])
    assert [one.people[0].id for one in matched.submissions] == ["001", "005"]
    assert [one.people[0].email for one in matched.submissions] == ["", ""]
    assert "has the id of Ann Ash (001), but the name of Bob Birch (002)" in matched.problems[0]
    assert (
        "has the number of Zoë van der Öl (005) of the roster, but no word of the name" in matched.problems[1]
    )
    assert [p.id for p in matched.missing] == ["003", "004"]
    # So it is with ids of two persons.
    matched = match(whole, [handed("a", Person("x", id="001", email="bob@x.org"))])
    assert "has ids of Ann Ash (001), Bob Birch (002) of the roster" in matched.problems[0]
    assert [p.id for p in matched.missing] == ["003", "004", "005"]


def test_a_platforms_own_number_of_a_team_is_a_doubt_or_its_group(tmp_path: Path) -> None:
    head = "Identifier,Full name,Groups\n"
    text = f"{head}Participant 12,Bob Bell,Team A\nParticipant 13,Ann Ames,\n"
    whole = roster(tmp_path, text)
    team, other = Person("Team A", platform_id="13"), Person("Team B", platform_id="13")
    matched = match(whole, [of("moodle", handed("t", team))])
    assert matched.submissions[0].members == ("Bob Bell",)
    matched = match(whole, [of("moodle", handed("t", other))])
    assert matched.submissions[0].people == (other,)
    assert "has the number of Ann Ames (13)" in matched.problems[0]
    blind = Person("Participant 13", platform_id="13")
    assert match(whole, [of("moodle", handed("t", blind))]).submissions[0].name == "Ann Ames"
    canvas = roster(tmp_path, 'Student,ID,Section\n"Ash, Ann",501,A\n')
    coded = of("canvas", handed("a", Person("anon 501", platform_id="501")))
    assert match(canvas, [coded]).submissions[0].people == (Person("anon 501", "", "", "501"),)


def test_a_number_within_a_name_is_no_login_beside_the_name_of_somebody_else(tmp_path: Path) -> None:
    whole = roster(tmp_path, "name,id\nann,1\nbob,2\nZed,2024\nKim Ek,3333\n")
    matched = match(whole, [handed("a", Person("hw_2024_ann")), handed("b", Person("hw_2024_bob"))])
    assert [one.people[0].id for one in matched.submissions] == ["", ""]
    assert len(matched.problems) == 2
    assert "may be ann (1) or Zed (2024)" in matched.problems[0]
    assert [p.name for p in matched.missing] == ["Kim Ek"]
    # A copy of somebody's file is not theirs.
    matched = match(whole, [handed("a", Person("bob copy of 3333"))])
    assert "may be bob (2) or Kim Ek (3333)" in matched.problems[0]
    # One claim is one row, several are none.
    sure = match(whole, [handed("a", Person("hw1_3333"))])
    assert (sure.submissions[0].name, sure.problems) == ("Kim Ek", ())
    several = match(whole, [handed("a", Person("hw1_3333")), handed("b", Person("3333_late"))])
    assert [one.people[0].id for one in several.submissions] == ["", ""]
    assert "2 who handed in may be Kim Ek (3333)" in several.problems[0]


def test_what_precedes_the_at_is_a_weak_login(tmp_path: Path) -> None:
    text = "name,email\nAnnika Berg,ann@old.edu\nAnn Ames,aames@uni.edu\nBob Bell,bob@uni.edu\n"
    whole = roster(tmp_path, text)
    some = [handed("a", Person("ann", id="ann")), handed("b", Person("bob", id="bob"))]
    matched = match(whole, some)
    assert [one.people[0].email for one in matched.submissions] == ["", "bob@uni.edu"]
    assert "may be Annika Berg (ann@old.edu) or Ann Ames (aames@uni.edu)" in matched.problems[0]
    assert matched.notes == (
        "known by no more than what precedes the @ of an address: bob as Bob Bell (bob@uni.edu)",
    )
    assert matched.missing == ()
    # The whole name of somebody else goes before it, and a stranger's is a doubt.
    (one,) = match(whole, [handed("a", Person("Ann Ames", id="ann"))]).submissions
    assert one.people[0].email == "aames@uni.edu"
    matched = match(whole, [handed("a", Person("Karl Krause", id="bob"))])
    assert matched.submissions[0].people[0].email == ""
    assert (
        "the login with which the address of Bob Bell (bob@uni.edu) of the roster begins"
        in matched.problems[0]
    )


def test_one_word_may_be_a_name_or_several(tmp_path: Path) -> None:
    whole = roster(tmp_path, "name,id\nAnna Lee,1\nLeeanna,2\nBob,3\n")
    matched = match(whole, [of("canvas", handed("a", Person("leeanna", platform_id="101")))])
    assert matched.submissions[0].people[0].id == ""
    assert "may be Anna Lee (1) or Leeanna (2)" in matched.problems[0]
    assert [p.name for p in matched.missing] == ["Bob"]
    (one,) = match(whole, [handed("a", Person("Anna Lee"))]).submissions
    assert one.people[0].id == "1"


def test_who_may_be_a_stranger_is_not_told_as_missing(tmp_path: Path) -> None:
    whole = roster(tmp_path, "name,id\nAnn Smith,1\nBob Jones,2\nCyril Jones,3\nDi Ek,4\n")
    matched = match(whole, [handed("a", Person("Smith")), handed("b", Person("Jones"))])
    assert [p.name for p in matched.missing] == ["Di Ek"]
    assert matched.notes[-1] == (
        "in doubt, as a word of the name is in one that is not known: "
        "Ann Smith (1), Bob Jones (2), Cyril Jones (3)"
    )
    assert [one.people[0].id for one in matched.submissions] == ["", ""]


def test_members_of_a_group_are_filled_in(tmp_path: Path) -> None:
    whole = roster(tmp_path, "name,id,group\nAnn,1,Team A\nBob,2,Team A\nCid,3,Team B\nDan,4,\n")
    matched = match(whole, [handed("g", Person("team a", platform_id="55"))])
    (one,) = matched.submissions
    assert one.members == ("Ann", "Bob")
    assert [p.id for p in one.people] == ["1", "2"]
    assert one.name == "team a"
    assert [p.name for p in matched.missing] == ["Cid", "Dan"]
    assert matched.notes == ()
    told = match(whole, [handed("g", Person("Ann", id="1"), Person("Bob"))])
    assert [p.id for p in told.submissions[0].people] == ["1", "2"]
    assert told.submissions[0].name == "Ann"


@pytest.mark.parametrize("written", ["teama", "team-a", "TEAM A", "team_a"])
def test_a_group_is_known_without_blanks_and_signs(tmp_path: Path, written: str) -> None:
    whole = roster(tmp_path, "name,id,group\nAnn,1,Team A\nBob,2,Team A\nCid,3,Team B\n")
    matched = match(whole, [of("canvas", handed("g", Person(written, platform_id="55")))])
    assert matched.submissions[0].members == ("Ann", "Bob")
    assert [p.name for p in matched.missing] == ["Cid"]
    several = roster(tmp_path, "name,id,group\nAnn,1,Team A\nBob,2,Te Ama\n")
    exact = written == "TEAM A"
    found = match(several, [of("canvas", handed("g", Person(written, platform_id="55")))])
    assert found.submissions[0].members == (("Ann",) if exact else (written,))


def test_moodle_puts_commas_between_the_groups_of_one_person(tmp_path: Path) -> None:
    text = 'name,id,groups\nAnn,1,"Red, Lab 2"\nBob,2,"Red"\nCid,3,"Lab 2"\n'
    matched = match(roster(tmp_path, text), [handed("g", Person("Red")), handed("h", Person("Red, Lab 2"))])
    assert [one.members for one in matched.submissions] == [("Ann", "Bob"), ("Ann",)]


def test_every_login_of_the_roster_counts(tmp_path: Path) -> None:
    whole = roster(tmp_path, "name,netid,github_username\nAnn Ash,aa1,octo-7\nBob,bb2,\n")
    matched = match(whole, [of("classroom", handed("octo-7", Person("octo-7", id="octo-7")))])
    assert matched.submissions[0].people == people(("Ann Ash", "aa1"))
    assert [p.name for p in matched.missing] == ["Bob"]


@pytest.mark.parametrize(
    ("text", "id", "name", "known"),
    [
        # A spreadsheet has lost the zeros; those of the platform are kept.
        ("name,id\nAnn Ash,123\nBob,124\n", "00123", "Ann Ash", ("Ann Ash", "00123")),
        ("name,id\nAnn Ash,000123\nBob,124\n", "0123", "Ann Ash", ("Ann Ash", "000123")),
        ("id\n123\n124\n", "00123", "Ann Ash", ("Ann Ash", "00123")),
        ("name,id\nAnn Ash,123\nAnn Ash,777\n", "00777", "Ann Ash", ("Ann Ash", "00777")),
        # The very number goes before one without zeros.
        ("name,id\nAnn Ash,0123\nBob,123\n", "123", "Bob", ("Bob", "123")),
    ],
)
def test_numbers_are_known_without_the_zeros_that_a_spreadsheet_lost(
    tmp_path: Path, text: str, id: str, name: str, known: tuple[str, str]
) -> None:
    matched = match(roster(tmp_path, text), [handed("x", Person(name, id))])
    assert matched.submissions[0].people == (Person(*known),)
    assert (matched.problems, len(matched.missing)) == ((), 1)


@pytest.mark.parametrize(
    ("text", "handed_in"),
    [
        ("name,id,email\nAnn Ash,0123,a@x\nAnn Ash,123,b@x\n", [Person("Ann Ash", "00123")]),
        ("name,id\nAnn Ash,123\n", [Person("Ann Ash", "00123"), Person("Ann Ash", "0123")]),
    ],
)
def test_numbers_that_differ_in_zeros_only_make_nobody_somebody_else(
    tmp_path: Path, text: str, handed_in: list[Person]
) -> None:
    matched = match(roster(tmp_path, text), [handed(f"x{n}", one) for n, one in enumerate(handed_in)])
    assert [s.people[0] for s in matched.submissions] == handed_in
    assert len(matched.problems) == len(handed_in)
    assert matched.missing == ()


def test_a_number_without_zeros_of_somebody_of_another_name_is_a_doubt(tmp_path: Path) -> None:
    matched = match(roster(tmp_path, "name,id\nAnn Ash,123\n"), [handed("x", Person("Bob Birch", "00123"))])
    assert matched.submissions[0].people == people(("Bob Birch", "00123"))
    assert "has the number of Ann Ash (123) of the roster, but no word of the name" in matched.problems[0]
    assert matched.missing == ()


def test_a_name_is_not_replaced_by_a_number_or_an_address(tmp_path: Path) -> None:
    for text in ("id\n17\n", "email\nA@x.org\n", "username\n17\n"):
        matched = match(roster(tmp_path, text), [handed("x", Person("Ann Ash", "17", "a@x.org"))])
        assert matched.submissions[0].people[0].name == "Ann Ash"
        assert matched.missing == ()


def test_who_is_not_on_the_roster_and_who_has_two_submissions_is_noted(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    strangers = [handed(f"s{n}", Person(f"stranger {n}")) for n in range(7)]
    twice = [handed("a", Person("Ann", id="001")), handed("b", Person("Ann", id="001"))]
    matched = match(whole, [*strangers, *twice])
    named = ", ".join(f"stranger {n}" for n in range(5))
    assert matched.notes == (
        "Ann Ash (001) has 2 submissions: a, b",
        f"not on the roster {tmp_path / 'roster.csv'}: {named} and 2 more",
    )
    assert matched.problems == ()


def test_nobody_handed_in(tmp_path: Path) -> None:
    whole = roster(tmp_path, CLASS)
    assert match(whole, []).missing == whole.people


@given(st.data())
def test_no_two_submissions_are_taken_for_one_person_by_name(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    names = ["Ann Ash", "Ash Ann", "annash", "Bob", "bob", "Ann"]
    listed = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=5))
    text = "name,id\n" + "".join(f"{name},{n:03}\n" for n, name in enumerate(listed))
    whole = roster(tmp_path_factory.mktemp("r"), text)
    some = data.draw(st.lists(st.sampled_from(names), max_size=5))
    matched = match(whole, [handed(f"s{n}", Person(name)) for n, name in enumerate(some)])
    found = [s.people[0].id for s in matched.submissions if s.people[0].id]
    assert len(found) == len(set(found))
    assert not {p.id for p in matched.missing} & set(found)


NAMES = st.text("aAbß éo李.-", min_size=1, max_size=9).filter(lambda name: name.strip() == name)


@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), NAMES)
def test_who_may_be_a_stranger_is_found_as_if_everyone_was_looked_at(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], name: str
) -> None:
    whole = roster(
        tmp_path_factory.mktemp("r"), "name,id\n" + "".join(f"{one},{n:05}\n" for n, one in enumerate(names))
    )
    finder = _Finder(whole, [])
    assert finder._with_words_of(name) == {n for n, one in enumerate(names) if alike(name, one)}


def test_a_class_of_strangers_is_matched_in_time_linear_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    monkeypatch.setattr("grader.intake.roster.words_of", lambda name: looked.append(name) or words_of(name))
    per_head = []
    for count in (50, 200):
        looked.clear()
        rows = "".join(f"First{n} Last{n},{n:05}\n" for n in range(count))
        strangers = [handed(f"x{n}", Person(f"Other{n} Name{n}", f"z{n}")) for n in range(count)]
        match(roster(tmp_path, f"name,id\n{rows}"), strangers)
        per_head.append(len(looked) / count)
    assert per_head[0] == pytest.approx(per_head[1], rel=0.1)
