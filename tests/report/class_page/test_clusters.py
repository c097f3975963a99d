"""Clusters part those who fail, hold what is near, and do not depend on who comes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.report.class_page.clusters import MAX_LEADERS, Cluster, bits, clusters

FAILED = st.lists(st.integers(0, 2**12 - 1), max_size=40)


def similarity(one: int, other: int) -> float:
    return (one & other).bit_count() / (one | other).bit_count()


@given(FAILED)
def test_everyone_who_fails_is_in_one_cluster(failed: list[int]) -> None:
    members = [at for cluster in clusters(failed) for at in cluster.members]
    assert sorted(members) == [at for at, cases in enumerate(failed) if cases]


@given(FAILED)
def test_every_member_is_near_to_its_leader_and_leaders_are_apart(failed: list[int]) -> None:
    found = clusters(failed)
    for cluster in found:
        sets = [failed[at] for at in cluster.members]
        assert all(similarity(one, cluster.leader) >= 0.8 for one in sets)
        common, some = -1, 0
        for one in sets:
            common, some = common & one, some | one
        assert (cluster.all, cluster.any) == (common, some)
    leaders = [cluster.leader for cluster in found]
    assert all(similarity(one, other) < 0.8 for at, one in enumerate(leaders) for other in leaders[at + 1 :])


@given(FAILED)
def test_who_fails_the_same_is_in_the_same_cluster(failed: list[int]) -> None:
    of = {at: number for number, cluster in enumerate(clusters(failed)) for at in cluster.members}
    for at, cases in enumerate(failed):
        for other in range(at):
            if cases and failed[other] == cases:
                assert of[at] == of[other]


@given(FAILED, st.randoms(use_true_random=False))
def test_another_order_gives_the_same_clusters(failed: list[int], drawn: object) -> None:
    order = list(range(len(failed)))
    drawn.shuffle(order)  # type: ignore[attr-defined]

    def parts(found: list[Cluster], names: list[int]) -> set[frozenset[int]]:
        return {frozenset(names[at] for at in cluster.members) for cluster in found}

    turned = clusters([failed[at] for at in order])
    assert parts(turned, order) == parts(clusters(failed), list(range(len(failed))))


def test_the_largest_comes_first_and_a_small_difference_parts_nobody() -> None:
    ten = 0b11111_11111
    failed = [0b1, ten, ten, ten ^ 0b1, ten ^ 0b110, 0, 0b1 << 11, 0b1 << 11]
    found = clusters(failed)
    assert [cluster.members for cluster in found] == [[1, 2, 3, 4], [6, 7], [0]]
    assert list(bits(found[0].all)) == [3, 4, 5, 6, 7, 8, 9]


def test_so_many_that_all_fail_differently_are_no_trouble() -> None:
    failed = [1 << at for at in range(2 * MAX_LEADERS)]
    assert len(clusters(failed)) == 2 * MAX_LEADERS


def test_four_fifths_in_common_is_near_and_of_two_near_leaders_the_nearer_is_joined() -> None:
    five, four = 0b11111, 0b01111
    assert [cluster.members for cluster in clusters([five, five, four])] == [[0, 1, 2]]
    assert [cluster.members for cluster in clusters([four, four, 0b00111])] == [[0, 1], [2]]
    ten, other = 0b0_1111111111, 0b1_1111111100
    assert similarity(ten, other) < 0.8
    # It has nine of eleven in common with the first, and nine of ten with the second.
    between = 0b1_1111111110
    failed = [ten, ten, ten, other, other, between]
    assert similarity(between, ten) >= 0.8 < similarity(between, other)
    assert [cluster.members for cluster in clusters(failed)] == [[0, 1, 2], [3, 4, 5]]
