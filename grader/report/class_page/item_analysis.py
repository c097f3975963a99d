"""How hard each case is, and whether it tells strong submissions from weak ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.summary import FAILED, PASSED

# A correlation of fewer says next to nothing.
MIN_SUBMISSIONS = 10
# Correlations nearer to zero than this are negligible whatever the size of the class (Cohen, *Statistical
# Power Analysis for the Behavioral Sciences*, 2nd edition, 1988, section 3.2: 0.1 is a small effect).
NEGLIGIBLE = 0.1
STANDARD_ERRORS = 2

Flag = Literal["", "negative", "nobody", "everybody"]


@dataclass(frozen=True)
class Item:
    """What a class tells of a case.

    Attributes:
        passed: Submissions that passed it.
        judged: Submissions that passed or failed it.
        discrimination: The corrected item-total correlation, within -1 and 1; None where it is not defined.
    """

    passed: int
    judged: int
    discrimination: float | None

    @property
    def difficulty(self) -> float | None:
        """The share that passed, as item analysis calls it: 1 is easiest. None when nobody was judged."""
        return self.passed / self.judged if self.judged else None

    @property
    def flag(self) -> Flag:
        """Why an author should look at the case; empty when there is no reason."""
        if self.judged and self.passed == 0:
            return "nobody"
        if self.judged and self.passed == self.judged:
            return "everybody"
        found, bound = self.discrimination, negative_bound(self.judged)
        return "negative" if found is not None and found < bound else ""


def negative_bound(judged: int) -> float:
    """Below which discrimination is clearly negative, rather than near zero by chance.

    Where there is no correlation, that of ``n`` submissions has a standard error of about
    ``1 / sqrt(n - 1)``; what is within two of them of zero is not told from it (Crocker and Algina,
    *Introduction to Classical and Modern Test Theory*, 1986, chapter 14, on point-biserial discrimination).
    In a large class that is next to nothing, hence `NEGLIGIBLE`.

    Args:
        judged: Submissions, 2 or more.

    Example:
        >>> negative_bound(26), negative_bound(5_000)
        (-0.4, -0.1)
    """
    return -max(STANDARD_ERRORS / math.sqrt(max(judged - 1, 1)), NEGLIGIBLE)


def item_analysis(marks: Iterable[str], cases: int) -> list[Item]:
    """Difficulty and discrimination of every case.

    Discrimination is the corrected item-total correlation: the point-biserial (Pearson) correlation between
    passing the case, 0 or 1, and the number of *other* cases passed, so that the case does not correlate with
    itself (Nunnally and Bernstein, *Psychometric Theory*, 3rd edition, 1994, chapter 8). It is taken over the
    submissions in which the case was judged, and is not defined when all of them passed, all failed, all
    passed as many others, or there are fewer than `MIN_SUBMISSIONS`.

    Args:
        marks: Of each submission a sign of `grader.summary.MARKS` for each case.
        cases: Their number.
    """
    counts = Counter(marks)
    totals = [pattern.count(PASSED) for pattern in counts]
    weights = list(counts.values())
    columns: Sequence[Sequence[str]] = list(zip(*counts, strict=True)) or [()] * cases
    return [_item(column, totals, weights) for column in columns]


def _item(column: Sequence[str], totals: Sequence[int], weights: Sequence[int]) -> Item:
    # Whole numbers, so that the order of the submissions moves nothing.
    n = passed = rest = squares = both = 0
    for mark, total, weight in zip(column, totals, weights, strict=True):
        if mark == PASSED:
            other = total - 1
            passed += weight
            both += weight * other
        elif mark == FAILED:
            other = total
        else:
            continue
        n += weight
        rest += weight * other
        squares += weight * other * other
    spread = (n * passed - passed * passed) * (n * squares - rest * rest)
    if n < MIN_SUBMISSIONS or spread <= 0:
        return Item(passed, n, None)
    return Item(passed, n, (n * both - passed * rest) / math.sqrt(spread))
