"""Many submissions graded on a Dask cluster.

A task is one job as bytes, and its answer is bytes. The thread of a Dask worker that has it hands it to a
worker process of its own (`grader.batch.process`), so that what grades there is what grades here. The pack
is the result of a task on which the others depend: Dask brings it to every worker once, also to one that
joins late, and makes it anew when all that had it are gone.

What is counted is counted here: a job is open until its first answer, whatever was run twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import secrets
import threading
import time
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from grader.batch.jobs import Graded, Job, answer_from_bytes
from grader.batch.runner import Runner
from grader.batch.tasks import describe, one_line, release, unfit
from grader.batch.worker import pages_of
from grader.errors import GraderError
from grader.summary import Record

if TYPE_CHECKING:
    from distributed import Client, Future

    from grader.exercise.pack import Pack

_T = TypeVar("_T")

INSTALL = 'pip install "mlm-grader[dask]"'
# Jobs that the scheduler holds: enough that no thread waits, and, where none is there yet, enough to make a
# cluster that grows with its work grow.
JOBS_PER_THREAD = 4
JOBS_AT_LEAST = 256
# How many answers are fetched at once.
ANSWERS_AT_ONCE = 64
# A job on which a process ended is tried once more.
MAX_TRIES = 2
# A host on which processes can't even start, and connections that end before anything is graded.
MAX_BROKEN_STARTS = 3
MAX_FRUITLESS_SESSIONS = 10
# Seconds.
CONNECT_S = 10.0
RETRY_S = 1.0
PING_S = 5.0
LOST_S = 30.0
NOTICE_S = 5.0
LEAVE_S = 5.0
TICK_S = 0.5

# What Dask workers do is named by text: one that gets a function which it can't import falls silent, and this
# way it answers with an error. ``given`` are the arguments.
TASKS = "__import__('grader.batch.tasks', fromlist=['tasks'])"
DESCRIBE = f"{TASKS}.describe(*given)"
GRADE = f"{TASKS}.grade_job(*given)"

LOGGERS = ("distributed.client", "distributed.core", "distributed.comm", "distributed.batched")


def grade_on_cluster(
    pack: Pack,
    jobs: Sequence[Job],
    address: str,
    *,
    reports: bool,
    weak_isolation: bool,
    notify: Callable[[str], None] = lambda message: None,
    patience_s: float = 600,
) -> Generator[Graded]:
    """Results as they become ready, in any order: each submission's once.

    Leaving early, also by an interrupt, cancels what was not begun and leaves the cluster as it was.

    Args:
        pack: The exercise's pack.
        jobs: What to grade.
        address: The scheduler's address, such as ``tcp://host:8786``.
        reports: Pages are made by the workers and come back in ``Graded.pages``.
        weak_isolation: Workers that can't confine submissions fully may grade.
        notify: Told in a sentence what the user should know while it goes on.
        patience_s: How long to wait for a scheduler that is lost, and for a first worker.

    Raises:
        GraderError: There is no scheduler, no worker, or one that can't give equal results.
    """
    run = _Run(pack, jobs, address, reports=reports, weak=weak_isolation, notify=notify, patience=patience_s)
    with _quiet():
        try:
            yield from run.graded()
        finally:
            run.leave()


class _LostError(Exception):
    """The connection to the scheduler is lost, and with it all that was handed over."""


class _NoSchedulerError(Exception):
    """No scheduler answers."""


class _Run:
    """What is still to be graded, and on which connection."""

    def __init__(
        self,
        pack: Pack,
        jobs: Sequence[Job],
        address: str,
        *,
        reports: bool,
        weak: bool,
        notify: Callable[[str], None],
        patience: float,
    ) -> None:
        self.pack = pack
        self.jobs = jobs
        self.address = address
        self.reports = reports
        self.notify = notify
        self.patience = patience
        self.name = secrets.token_hex(8)
        self.settings = {
            "reports": None,
            "pages": "return" if reports else "none",
            "weak_isolation": weak,
        }
        mine = describe(self.name)
        self.needed = {name: mine[name] for name in ("grader", "code", "python", "numpy")}
        self.needed["level"] = "" if weak else "full"
        self.open = set(range(len(jobs)))
        # How many submissions have a result. Jobs are not kept here: the whole class may fill the memory.
        self.counted = 0
        self.waiting = deque(range(len(jobs)))
        # Jobs on which Dask workers ended: each goes alone, after the others, so that it is known which of
        # them it is.
        self.suspects: deque[int] = deque()
        self.tries: Counter[int] = Counter()
        self.broken: Counter[str] = Counter()
        self.session: _Session | None = None
        self.sessions = self.fruitless = 0
        # Since when nothing can go on.
        self.since = time.monotonic()
        self.told_of_none = False
        self.workers: Mapping[str, int] | None = None

    def graded(self) -> Generator[Graded]:
        """Connect, grade, connect again."""
        while self.open:
            self.session = session = self._connect()
            try:
                yield from self._grade(session)
            except _LostError as error:
                self.fruitless += 1
                if self.fruitless >= MAX_FRUITLESS_SESSIONS:
                    raise GraderError(
                        f"the connection to the Dask scheduler at {self.address} was lost {self.fruitless} "
                        f"times in a row before anything was graded ({error}); {self._kept()}"
                    ) from None
                self.notify(f"the connection to the Dask scheduler at {self.address} is lost ({error})")
                self.session = None
                self.since = time.monotonic()
                # All that is neither waiting nor decided was on its way.
                back = sorted(self.open - set(self.waiting) - set(self.suspects))
                self.waiting.extendleft(reversed(back))
                session.close(lost=True)

    def leave(self) -> None:
        """Cancel what is left, and end this run's processes."""
        if self.session is not None:
            self.session.close(lost=False)
            self.session = None

    def _connect(self) -> _Session:
        first = self.sessions == 0
        while True:
            try:
                session = _Session(self)
                break
            except _NoSchedulerError as error:
                if first:
                    raise GraderError(
                        f"{self.address} can't be used as a Dask scheduler: {error}. Expected is the address "
                        "that dask scheduler prints when it starts, such as tcp://host:8786"
                    ) from None
                if time.monotonic() - self.since > self.patience:
                    raise GraderError(
                        f"the Dask scheduler at {self.address} has not come back within "
                        f"{self.patience:g} s ({error}); {self._kept()}"
                    ) from None
                time.sleep(RETRY_S)
        self.sessions += 1
        if not first:
            self.notify(
                f"connected to {self.address} again; what was under way there is handed over once more"
            )
        # Whoever comes back gets as long for its workers.
        self.since, self.told_of_none, self.workers = time.monotonic(), False, None
        return session

    def _grade(self, session: _Session) -> Iterator[Graded]:
        while self.open:
            self._hand_over(session)
            finished: list[str] = []
            try:
                event: tuple[str, Any] | None = session.events.get(timeout=TICK_S)
            except queue.Empty:
                event = None
            while event is not None:
                kind, value = event
                if kind == "lost":
                    raise _LostError(value)
                if kind == "workers":
                    self._count(value)
                else:
                    finished.append(value)
                try:
                    event = None if len(finished) >= ANSWERS_AT_ONCE else session.events.get_nowait()
                except queue.Empty:
                    event = None
            for number, ids, answer in session.fetch(finished):
                for graded in self._take(session, number, ids, answer):
                    self.counted += 1
                    yield graded
            self._wait_no_longer()

    def _hand_over(self, session: _Session) -> None:
        threads = sum((self.workers or {}).values())
        window = max(JOBS_AT_LEAST, JOBS_PER_THREAD * threads)
        while self.waiting and len(session.flying) < window:
            number = self.waiting.popleft()
            session.submit(number, self.tries[number], self.jobs[number])
        if self.suspects and not session.flying:
            number = self.suspects[0]
            session.submit(number, self.tries[number], self.jobs[number])

    def _count(self, workers: Mapping[str, int]) -> None:
        """Note the workers that are there."""
        if workers:
            self.since = time.monotonic()
            if not self.workers:
                threads = sum(workers.values())
                self.notify(f"workers at {self.address}: {len(workers)}, threads: {threads}")
            self.told_of_none = False
        self.workers = workers

    def _wait_no_longer(self) -> None:
        """Say that nobody is there. Raises GraderError when it has taken too long."""
        if self.workers:
            return
        waited = time.monotonic() - self.since
        if waited > self.patience:
            raise GraderError(
                f"no worker has joined the Dask scheduler at {self.address} within {self.patience:g} s; "
                f"{self._kept()} Start workers with: dask worker {self.address}"
            )
        if waited > min(NOTICE_S, self.patience / 2) and not self.told_of_none:
            self.told_of_none = True
            self.notify(
                f"no worker is at {self.address}; waiting for one up to {self.patience:g} s. "
                f"Start workers with: dask worker {self.address}"
            )

    def _take(self, session: _Session, number: int, ids: list[str], answer: Any) -> Iterator[Graded]:
        if number not in self.open:
            return
        if isinstance(answer, BaseException):
            yield from self._take_error(session, number, answer)
            return
        what, about, data = answer
        if what == "graded":
            try:
                graded = answer_from_bytes(zlib.decompress(data))
                if [one.record.submission.id for one in graded] != ids:
                    raise ValueError("it is about other submissions")
            except (zlib.error, ValueError, KeyError, TypeError) as error:
                yield from self._failed(number, f"the answer of a Dask worker can't be read: {error}")
                return
            self.fruitless = 0
            self._done(number)
            yield from graded
        elif what == "ended":
            yield from self._failed(number, "its worker process ended early twice")
        elif what == "unfit":
            raise self.unfit([f"a worker on the host {about['host']}: {unfit(about, self.needed)}"])
        else:
            if what == "broken":
                self.broken[about] += 1
                if self.broken[about] >= MAX_BROKEN_STARTS:
                    raise GraderError(
                        f"a Dask worker at {self.address} can't start what grades: {about}; {self._kept()}"
                    )
            self._again(number)

    def _take_error(self, session: _Session, number: int, error: BaseException) -> Iterator[Graded]:
        from distributed.scheduler import KilledWorker

        if not isinstance(error, KilledWorker):
            # A worker that joined late may lack what the others have.
            try:
                session.check()
            except _NoSchedulerError as lost:
                raise _LostError(str(lost)) from None
            if isinstance(error, ImportError | AttributeError):
                # It was one, and it has left.
                self._again(number)
                return
            yield from self._failed(number, f"a Dask worker failed: {one_line(error)}")
        elif error.task == session.pack_key:
            raise _LostError("the workers that were sent the exercise have ended")
        else:
            yield from self._failed(number, "the Dask workers on which it ran ended each time", suspect=True)

    def _failed(self, number: int, why: str, *, suspect: bool = False) -> Iterator[Graded]:
        self.tries[number] += 1
        # Of several jobs that Dask workers held when they ended none is to blame before it was there alone.
        if number not in self.suspects if suspect else self.tries[number] < MAX_TRIES:
            self._again(number, suspect=suspect)
            return
        self._done(number)
        with Runner(self.pack) as runner:
            for submission in self.jobs[number].submissions:
                result = runner.fault(submission, why)
                yield Graded(Record.of(result), pages=pages_of(result) if self.reports else {})

    def _again(self, number: int, *, suspect: bool = False) -> None:
        if number in self.suspects:
            return
        # At the end, so that what ends workers meets the rest of the class last.
        (self.suspects if suspect else self.waiting).append(number)

    def _done(self, number: int) -> None:
        self.open.discard(number)
        with contextlib.suppress(ValueError):
            self.suspects.remove(number)

    def unfit(self, said: Sequence[str]) -> GraderError:
        versions = (
            f"mlm-grader[dask]=={self.needed['grader']} and numpy=={self.needed['numpy']} "
            f"under Python {self.needed['python']}"
        )
        return GraderError(
            f"not all of the Dask cluster at {self.address} can give equal results:\n  "
            + "\n  ".join(said)
            + f"\nInstall {versions} there, or take it out of the cluster; {self._kept()}"
        )

    def _kept(self) -> str:
        are = "submission is" if self.counted == 1 else "submissions are"
        return f"{self.counted} {are} graded and kept, and the same command goes on with the others."


class _Session:
    """One connection to the scheduler, and what is handed over on it.

    Attributes:
        events: What happened, told from Dask's threads: ``done`` with a key, ``workers`` with the threads of
            each, ``lost`` with the reason.
        flying: The job's number and the ids of its submissions, by the key of its task.
        pack_key: The key of the task whose result the pack is.

    Raises:
        _NoSchedulerError: Nothing that is a scheduler answers.
        GraderError: Some worker can't be used.
    """

    def __init__(self, run: _Run) -> None:
        self.events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.flying: dict[str, tuple[int, list[str]]] = {}
        self._futures: dict[str, Future] = {}
        self._heard: set[str] = set()
        self._run = run
        self._closed = False
        self._watcher: asyncio.Task[Any] | None = None
        self._label = f"{run.name}-{run.sessions}"
        self.pack_key = f"pack-{self._label}"
        self._client = _client(run.address, run.notify)
        try:
            self.check()
            self._pack = self._client.submit(bytes, run.pack.data, key=self.pack_key, pure=False)
            self._client.loop.add_callback(self._watch)
        except BaseException:
            self.close(lost=True)
            raise

    def check(self) -> None:
        """Ask all who are there now what they are. Raises GraderError, or _NoSchedulerError."""

        async def ask() -> Mapping[str, Any]:
            told: Mapping[str, Any] = await self._client.run(
                eval, DESCRIBE, {"given": [self._run.name]}, on_error="return"
            )
            return told

        try:
            workers = self._wait(ask, LOST_S)
        except Exception as error:
            raise _NoSchedulerError(one_line(error)) from None
        said = []
        for address, about in sorted(workers.items()):
            if isinstance(about, ImportError | AttributeError):
                said.append(f"the worker {address}: it can't import grader ({about})")
            elif not isinstance(about, BaseException) and (why := unfit(about, self._run.needed)):
                said.append(f"the worker {address} on the host {about['host']}: {why}")
        if said:
            raise self._run.unfit(said)

    def submit(self, number: int, tries: int, job: Job) -> None:
        """Hand over a job."""
        run = self._run
        key = f"grade-{self._label}-{number}-{tries}-{secrets.token_hex(2)}"
        given = [run.name, run.settings, run.needed, self._pack, job.to_bytes()]
        self.flying[key] = number, [submission.id for submission in job.submissions]
        future = self._client.submit(eval, GRADE, {"given": given}, key=key, pure=False)
        self._futures[key] = future
        future.add_done_callback(self._hear)

    def fetch(self, keys: Sequence[str]) -> list[tuple[int, list[str], Any]]:
        """Of finished tasks the job's number, its submissions' ids, and the answer or what was raised.

        Raises:
            _LostError: They can't be fetched.
        """
        if not keys:
            return []
        futures = [self._futures.pop(key) for key in keys]

        async def fetch() -> list[Any]:
            return await asyncio.gather(*[self._answer(f) for f in futures])

        try:
            answers = self._wait(fetch, LOST_S)
        except Exception as error:
            raise _LostError(one_line(error)) from None
        self._heard.difference_update(keys)
        if any(future.cancelled() for future in futures):
            raise _LostError("its tasks are cancelled")
        return [(*self.flying.pop(key), answer) for key, answer in zip(keys, answers, strict=True)]

    def close(self, *, lost: bool) -> None:
        """Leave; what is not finished is cancelled. It takes some seconds at most."""
        self._closed = True

        async def leave() -> None:
            if self._watcher is not None:
                self._watcher.cancel()
            if lost:
                return
            if self._futures:
                await self._client.cancel(list(self._futures.values()), force=True)
            await self._client.run(release, self._run.name, on_error="ignore")

        end = time.monotonic() + CONNECT_S + RETRY_S
        while self._client.status == "connecting" and time.monotonic() < end:
            # It connects by itself once more, and closed in the middle of that it leaves a socket open.
            time.sleep(TICK_S / 10)
        with contextlib.suppress(Exception):
            self._wait(leave, LEAVE_S)
        with contextlib.suppress(Exception):
            self._client.close(timeout=LEAVE_S)

    async def _answer(self, future: Future) -> Any:
        try:
            (answer,) = await self._client.gather([future], direct=False)
        except Exception as error:
            return error
        return answer

    def _hear(self, future: Future) -> None:
        key = str(future.key)
        self._heard.add(key)
        self.events.put(("done", key))

    def _wait(self, function: Callable[[], Awaitable[_T]], seconds: float) -> _T:
        """Run a coroutine in Dask's loop. Raises TimeoutError, or what it raises."""

        async def limited() -> _T:
            return await asyncio.wait_for(function(), seconds)

        result: _T = self._client.sync(limited, callback_timeout=seconds + RETRY_S)
        return result

    async def _watch(self) -> None:
        """Ask the scheduler from time to time: a network that was cut says nothing by itself."""
        self._watcher = asyncio.current_task()
        overdue: set[str] = set()
        while not self._closed:
            keys = [key for key in list(self.flying) if key not in self._heard]
            scheduler = self._client.scheduler
            try:
                if self._client.status != "running":
                    raise OSError("the connection was closed")
                workers, states = await asyncio.wait_for(
                    asyncio.gather(scheduler.ncores(workers=None), scheduler.get_task_status(keys=keys)),
                    LOST_S,
                )
            except Exception as error:
                self.events.put(("lost", one_line(error)))
                return
            self.events.put(("workers", dict(workers)))
            # Tasks that never arrived there, and answers of which we never heard.
            now = {key for key in keys if states.get(key) in (None, "memory", "erred")} - self._heard
            if overdue & now:
                self.events.put(("lost", "messages get lost on the way"))
                return
            overdue = now
            await asyncio.sleep(PING_S if workers else min(PING_S, RETRY_S))


def _client(address: str, notify: Callable[[str], None]) -> Client:
    """A connection. Raises _NoSchedulerError, or GraderError when Dask is not installed."""
    try:
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        raise GraderError(f"grading on a cluster needs Dask; install it with: {INSTALL}") from None
    _check_address(address)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", VersionMismatchWarning)
        try:
            client = Client(
                address, timeout=CONNECT_S, set_as_default=False, name="grader", direct_to_workers=False
            )
        except Exception as error:
            raise _NoSchedulerError(one_line(error)) from None
    for warning in caught:
        notify(f"Dask warns: {warning.message}")
    return client


def _check_address(address: str) -> None:
    """Raises _NoSchedulerError when what answers is no scheduler."""
    from distributed.core import connect
    from distributed.security import Security

    async def ask() -> Any:
        comm = await connect(address, timeout=CONNECT_S, **Security().get_connection_args("client"))
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    async def limited() -> Any:
        return await asyncio.wait_for(ask(), CONNECT_S)

    said: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        # The caller's thread may have a loop of its own: a notebook's does.
        try:
            said.put(asyncio.run(limited()))
        except Exception as error:
            said.put(error)

    threading.Thread(target=run, daemon=True).start()
    answer = said.get()
    if isinstance(answer, Exception):
        raise _NoSchedulerError(f"nothing answers there as one ({one_line(answer)})")
    found = answer.get("type") if isinstance(answer, Mapping) else None
    if found != "Scheduler":
        raise _NoSchedulerError(f"what answers there is {f'a Dask {found}' if found else 'something else'}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own lines about lost connections are left out: `notify` tells them."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
