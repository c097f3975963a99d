"""The pictures of patterns say what their marks mean where it can't be mistaken."""

from __future__ import annotations

from grader.handout.drawing import figures
from grader.handout.patterns import read_pattern

GRID = "\n\n  0 1\n0 x .\n1 x x\n"
ATTENDS = read_pattern(f"title: Causal\nrows: query\ncolumns: key\nx: attends\n.: does not attend{GRID}")
PLAIN = read_pattern(f"title: Plain\nrows: query\ncolumns: key{GRID}")


def test_one_legend_serves_all_that_it_holds_for() -> None:
    drawn = str(figures([ATTENDS, ATTENDS], 1))
    assert drawn.count('class="key"') == 1
    assert drawn.rindex("</figure>") < drawn.index('class="key"')


def test_each_picture_has_its_own_legend_where_they_differ() -> None:
    drawn = str(figures([ATTENDS, PLAIN], 1))
    first, second, after = drawn.split("</figure>")
    for figure, words in ((first, ("attends", "does not attend")), (second, ("yes", "no"))):
        (key,) = figure.split('<ul class="key">')[1:]
        assert [line.rpartition("</svg> ")[2] for line in key.split("</li>")[:2]] == list(words)
    assert "key" not in after
