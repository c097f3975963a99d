"""A terminal without Unicode shows plainer signs, and the words beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import grader
from support.small import RIGHT, WRONG

from grader import signs


@pytest.mark.parametrize(
    ("text", "plain"),
    [("✓ holds", b"+ holds"), ("1 → 2 …", b"1 -> 2 ..."), ("Zoë 日本", b"Zo? ??"), ("\ud800", b"?")],
)
def test_signs_have_plain_forms(text: str, plain: bytes) -> None:
    assert text.encode("ascii", signs.register()) == plain


def test_what_an_encoding_has_stays(root: Path) -> None:
    assert "– ✓".encode("cp1252", signs.register()) == b"\x96 +"


def test_an_ascii_terminal_gets_words_and_signs_that_it_knows(root: Path, tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_text(RIGHT)
    (tmp_path / "bob.py").write_text(WRONG)
    files = ("ann.py", "bob.py", "--root", str(root))
    done = grader("check", *files, cwd=tmp_path, PYTHONIOENCODING="ascii", COLUMNS="100")
    assert done.out.isascii() and "?" not in done.out
    assert "ann  + passed" in done.out and "bob  x failed" in done.out
    assert "+ holds  Product  product" in done.out and "x fails  Separate rows  rows" in done.out
