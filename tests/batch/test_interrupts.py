"""Every way to ask a process to end is an interrupt that leaves nothing half done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from grader.batch.interrupts import SIGNALS, Interrupts


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    # Who runs the tests may have told them to ignore it, as nohup does.
    before = signal.getsignal(request.param)
    if before is signal.SIG_IGN:
        signal.signal(request.param, signal.SIG_DFL)
    yield request.param
    signal.signal(request.param, before)


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    # Python handles it between two instructions of the main thread.
    for _ in range(100):
        pass


def test_it_is_raised_and_the_handlers_of_before_come_back(number: int) -> None:
    before = [signal.getsignal(n) for n in SIGNALS]
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        assert not interrupts.came
        send(number)
    assert interrupts.came
    assert [signal.getsignal(n) for n in SIGNALS] == before


def test_shielded_work_is_done_first(number: int) -> None:
    done = []
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.shield():
            send(number)
            send(number)
            done.append("all of it")
        with interrupts.shield():
            done.append("once is enough")
        with pytest.raises(KeyboardInterrupt):
            send(number)
    assert len(done) == 2


def test_what_fails_in_a_shield_is_told_and_the_interrupt_comes_next(number: int) -> None:
    with Interrupts() as interrupts:
        with pytest.raises(ValueError), interrupts.shield():
            send(number)
            raise ValueError
        with pytest.raises(KeyboardInterrupt), interrupts.shield():
            pass


def test_what_was_ignored_stays_ignored(number: int) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interrupts():
            send(number)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_in_another_thread_it_changes_nothing() -> None:
    before = [signal.getsignal(n) for n in SIGNALS]
    seen: list[object] = []

    def work() -> None:
        with Interrupts() as interrupts, interrupts.shield():
            seen.extend(signal.getsignal(n) for n in SIGNALS)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == before
