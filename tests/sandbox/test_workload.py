"""The unit in which the reference's time is kept: fixed work, timed by the thread that does it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.sandbox import workload


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    workload.seconds.cache_clear()
    yield
    workload.seconds.cache_clear()


def test_the_work_is_the_same_every_time() -> None:
    assert workload.work() == workload.work() != 0


def test_one_slow_run_and_the_first_do_not_count() -> None:
    now, took = [0.0], iter([9.0, 0.02, 0.02, 0.5, 0.02, 0.03])

    def work() -> None:
        now[0] += next(took)

    assert workload.measure(work, lambda: now[0]) == pytest.approx(0.02)
    assert next(took, None) is None, "one run to warm up, and then as many as are counted"


def test_a_process_measures_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = iter([0.25, 0.5])
    monkeypatch.setattr(workload, "measure", lambda: next(measured))
    assert [workload.seconds() for _ in range(3)] == [0.25] * 3
    assert next(measured) == 0.5


def test_it_is_measured_here() -> None:
    assert 0 < workload.seconds() == workload.seconds()
