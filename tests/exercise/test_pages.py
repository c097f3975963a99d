"""The page of a mistake: a title and four sections in their order, each with something in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.exercise.pages import SECTIONS, Page, read_page

WHOLE = """The mean is of the batch.

What it does:
    Takes the mean
    of everything.
Why it is wrong:
    Rows see each other.
How it looks:
    def f(x):
        return x.mean()

    f(1)
What to write instead:
    x.mean(axis=1)
"""


def test_title_and_sections_come_out_without_indentation() -> None:
    assert read_page(WHOLE, "here") == (
        "The mean is of the batch",
        Page(
            "Takes the mean\nof everything.",
            "Rows see each other.",
            "def f(x):\n    return x.mean()\n\nf(1)",
            "x.mean(axis=1)",
        ),
    )


words = st.text("abc xyz.,()=", min_size=1).map(lambda s: f"x{s}".strip())


@given(words, st.lists(words, min_size=4, max_size=4))
def test_what_is_written_is_read(title: str, bodies: list[str]) -> None:
    text = title + "\n\n" + "\n".join(f"{n}:\n    {b}" for n, b in zip(SECTIONS, bodies, strict=True))
    assert read_page(text, "here") == (title.removesuffix("."), Page(*bodies))


@pytest.mark.parametrize("missing", SECTIONS)
def test_a_missing_section_is_told_with_the_place(missing: str) -> None:
    text = WHOLE.replace(f"{missing}:\n", "")
    with pytest.raises(GraderError) as caught:
        read_page(text, "lib.py:3: mean_of_batch")
    assert str(caught.value).startswith("lib.py:3: mean_of_batch: expected a title and the sections")
    assert all(f"'{name}:'" in str(caught.value) for name in SECTIONS)
    assert repr([name for name in SECTIONS if name != missing]) in str(caught.value)


@pytest.mark.parametrize("empty", SECTIONS)
def test_an_empty_section_is_told(empty: str) -> None:
    head, _, rest = WHOLE.partition(f"{empty}:\n")
    following = list(SECTIONS[SECTIONS.index(empty) + 1 :])
    rest = rest[rest.index(following[0]) :] if following else ""
    with pytest.raises(GraderError, match=f"here: the section '{empty}:' is empty"):
        read_page(f"{head}{empty}:\n   \n{rest}", "here")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A title alone.",
        WHOLE.partition("\n")[2],  # no title
        WHOLE.replace("Why it is wrong", "Why it's wrong"),
        WHOLE.replace("What it does", "What it Does"),
        WHOLE.replace("How it looks:", "How it looks: so"),
        WHOLE + "What it does:\n    again\n",
        WHOLE.replace("What it does", "Q")
        .replace("Why it is wrong", "What it does")
        .replace("Q:", "Why it is wrong:"),
    ],
    ids=range(8),
)
def test_other_texts_are_no_pages(text: str) -> None:
    with pytest.raises(GraderError, match="here: expected a title and the sections"):
        read_page(text, "here")


def test_a_sections_name_inside_a_line_opens_no_section() -> None:
    text = WHOLE.replace("Rows see each other.", "As said under What it does: rows meet.")
    assert read_page(text, "here")[1].why == "As said under What it does: rows meet."
