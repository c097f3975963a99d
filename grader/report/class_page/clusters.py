"""Submissions that fail alike: clusters of those that fail nearly the same cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

# Bounds the work where everyone fails in another way: who comes later and is near to none of these is alone.
MAX_LEADERS = 500


@dataclass
class Cluster:
    """Submissions that fail alike.

    Attributes:
        members: Their numbers, rising.
        leader: What its first ones fail, to which all are near: bit ``k`` stands for case ``k``.
        all: The cases that every one of them fails.
        any: The cases that some of them fail.
    """

    members: list[int] = field(default_factory=list)
    leader: int = 0
    all: int = -1
    any: int = 0


def clusters(failed: Sequence[int]) -> list[Cluster]:
    """Clusters of submissions by the cases that they fail, the largest first.

    Leader clustering (Hartigan, *Clustering Algorithms*, 1975, chapter 3): the sets of failed cases are gone
    through, the most frequent first; each joins the nearest leader whose Jaccard similarity with it is at
    least 4/5, or leads a cluster of its own. So every member is that near to its leader, and the same class
    has the same clusters whatever the order of its members, but for ties.

    Leaders are looked up by their rarest cases, as two sets that are near share one of them (Bayardo, Ma and
    Srikant, *Scaling Up All Pairs Similarity Search*, 2007), so few sets are compared.

    Args:
        failed: Of each submission its failed cases, a bit each; who fails none is in no cluster.
    """
    members: dict[int, list[int]] = {}
    for number, cases in enumerate(failed):
        if cases:
            members.setdefault(cases, []).append(number)
    frequency = Counter([case for cases in members for case in bits(cases)])
    leaders: dict[int, list[Cluster]] = {}
    found: list[Cluster] = []
    for cases, numbers in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        rarest = sorted(bits(cases), key=lambda case: (frequency[case], case))
        # Of the others, as many as a near set must share with this one.
        rarest = rarest[: len(rarest) - -(-4 * len(rarest) // 5) + 1]
        near = {id(one): one for case in rarest for one in leaders.get(case, ())}
        cluster = _nearest(cases, near.values())
        if cluster is None:
            cluster = Cluster(leader=cases)
            if len(found) < MAX_LEADERS:
                for case in rarest:
                    leaders.setdefault(case, []).append(cluster)
            found.append(cluster)
        cluster.members += numbers
        cluster.all &= cases
        cluster.any |= cases
    for cluster in found:
        cluster.members.sort()
    return sorted(found, key=lambda one: (-len(one.members), one.members[0]))


def _nearest(cases: int, candidates: Iterable[Cluster]) -> Cluster | None:
    """The cluster whose leader is most similar, if it is similar enough."""
    best, shared, together = None, 4, 5
    size = cases.bit_count()
    for cluster in candidates:
        common = (cases & cluster.leader).bit_count()
        union = size + cluster.leader.bit_count() - common
        nearer = common * together - shared * union
        if nearer > 0 or (nearer == 0 and best is None):
            best, shared, together = cluster, common, union
    return best


def bits(cases: int) -> Iterator[int]:
    """The numbers of the bits that are set, rising."""
    while cases:
        lowest = cases & -cases
        yield lowest.bit_length() - 1
        cases ^= lowest
