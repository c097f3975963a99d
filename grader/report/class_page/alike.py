"""Clusters of submissions that fail alike, with what they have in common in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.report.class_page.clusters import Cluster, bits, clusters
from grader.report.class_page.groups import Group, Groups, who
from grader.report.class_page.marks import ClassMarks
from grader.report.class_page.mistakes import most_named
from grader.summary import FAILED, Summary

MAX_CLUSTERS = 50
MAX_CLAUSES = 3

_BITS = {ord(sign): "1" if sign == FAILED else "0" for sign in map(chr, range(128))}


@dataclass(frozen=True)
class ClusterView:
    """A cluster.

    Attributes:
        title: What its members have in common: the mistake that most of them are told, else clauses.
        named: How many are told that mistake; 0 when the title names clauses.
        all: How many checks every one of them fails.
        any: How many checks some of them fail.
        group: The members.
    """

    title: str
    named: int
    all: int
    any: int
    group: Group


@dataclass(frozen=True)
class Clusters:
    """All clusters of two and more.

    Attributes:
        rows: Those that are shown.
        more: How many are not.
        alone: Submissions that fail like no other.
        of: For each row of the class the number of its cluster, also of one; None for who fails nothing.
    """

    rows: Sequence[ClusterView]
    more: int
    alone: int
    of: Sequence[int | None]


def class_clusters(
    summaries: Sequence[Summary], marks: ClassMarks, titles: Mapping[str, str], groups: Groups
) -> Clusters:
    """The clusters of a class, the largest first; groups are added to ``groups``."""
    # The first case is the lowest bit.
    masks = [int(pattern[::-1].translate(_BITS) or "0", 2) for pattern in marks.patterns]
    found = clusters([masks[number] for number in marks.of])
    of: list[int | None] = [None] * len(summaries)
    for number, cluster in enumerate(found):
        for at in cluster.members:
            of[at] = number
    shared = [cluster for cluster in found if len(cluster.members) > 1]
    views = []
    for cluster in shared[:MAX_CLUSTERS]:
        told, named = most_named([summaries[at] for at in cluster.members])
        if named * 2 <= len(cluster.members):
            told, named = _clauses(cluster, marks, titles), 0
        label = f"Fails alike: {told}"
        group = groups.add(label, cluster.members, (who(summaries[at]) for at in cluster.members))
        views.append(ClusterView(told, named, cluster.all.bit_count(), cluster.any.bit_count(), group))
    return Clusters(tuple(views), len(shared) - len(views), len(found) - len(shared), tuple(of))


def _clauses(cluster: Cluster, marks: ClassMarks, titles: Mapping[str, str]) -> str:
    """The clauses that hold least in a cluster, those first of which most checks fail."""
    total: dict[str, int] = {}
    for case in marks.cases:
        total[case.clause] = total.get(case.clause, 0) + 1
    failed: dict[str, int] = {}
    # Where members have no failed case in common, what the first of them fail says most.
    for case_number in bits(cluster.all or cluster.leader):
        clause = marks.cases[case_number].clause
        failed[clause] = failed.get(clause, 0) + 1
    ranked = sorted(failed, key=lambda clause: -failed[clause] / total[clause])
    shown = ", ".join([titles.get(clause, clause) for clause in ranked[:MAX_CLAUSES]])
    more = len(ranked) - MAX_CLAUSES
    return f"Clause{'s' if len(ranked) > 1 else ''}: {shown}" + (f" and {more} more" if more > 0 else "")
