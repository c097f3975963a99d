"""A class graded on a Dask cluster: whatever dies on the way, each submission has its one right result."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from classes import SOURCES, Counted, told
from processes import all_end, below, workers_of
from support.small import RIGHT, WRONG

from grader.batch import cluster as cluster_module
from grader.batch import tasks
from grader.batch.cluster import grade_on_cluster
from grader.batch.jobs import Graded, Job
from grader.batch.process import WorkerProcess
from grader.batch.runner import Runner
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Adjustment
from grader.sandbox.inside import confinement
from grader.sandbox.levels import WITHOUT

# Its tests together take long.
pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")

from dask_cluster import ROOT, Cluster, Network, cluster, free_port, wait_until  # noqa: E402

ENDLESS = "def row_scale(x, w, factor):\n    while True: pass\n"
SLOW = RIGHT.replace("def row_scale", "import time\ndef row_scale").replace(
    "    ", "    time.sleep(0.05)\n    ", 1
)

# Kills the process above the worker process that it was forked from: a Dask worker, or the worker process
# itself, and nothing else.
KILLER = """\
import os, signal


def parent(pid):
    with open(f"/proc/{pid}/status") as file:
        return int([line for line in file if line.startswith("PPid:")][0].split()[1])


def row_scale(x, w, factor):
    pid = os.getppid()
    while pid > 1:
        with open(f"/proc/{pid}/cmdline") as file:
            if "NAME" in file.read():
                os.kill(pid, signal.SIGKILL)
                break
        pid = parent(pid)
    return RIGHT(x, w, factor)


""" + RIGHT.replace("row_scale", "RIGHT")


def submission(name: str, source: str) -> Submission:
    return Submission(name, name.title(), f"class/{name}.py", f"sha256:{name}", source)


def jobs_of(sources: Mapping[str, str]) -> list[Job]:
    return [Job((submission(name, source),)) for name, source in sources.items()]


def run(pack: Pack, jobs: Sequence[Job], address: str, **options: Any) -> Generator[Graded]:
    chosen = {"reports": False, "weak_isolation": False, "patience_s": 90.0} | options
    return grade_on_cluster(pack, jobs, address, **chosen)


def statuses(graded: Iterable[Graded]) -> dict[str, str]:
    """The status by id; nobody has two."""
    found = list(graded)
    by_id = {one.record.submission.id: one.record.status for one in found}
    assert len(by_id) == len(found), "a submission was counted twice"
    return by_id


def right(count: int) -> dict[str, str]:
    return {f"s{number:03}": RIGHT for number in range(count)}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with one thread each, for what does not end them."""
    with cluster(tmp_path_factory.mktemp("shared")) as one:
        yield one


def equal(graded: Graded) -> dict[str, Any]:
    """What two runs have to agree on."""
    record = told(graded.record.result)
    record["isolation"].pop("layers")
    return record


def test_a_worker_killed_in_the_middle_costs_no_one_and_changes_nothing(pack: Pack, tmp_path: Path) -> None:
    sources = {**SOURCES, **right(24), "slow": SLOW}
    jobs = jobs_of(sources)
    graded: list[Graded] = []
    said: list[str] = []
    with cluster(tmp_path / "cluster") as one:
        orphans: list[int] = []
        for result in run(pack, jobs, one.address, reports=True, notify=said.append):
            graded.append(result)
            if len(graded) == 3:
                wait_until(lambda: all(workers_of(w.pid) for w in one.workers), "both at work")
                orphans = below(one.workers[0].pid)
                one.workers[0].kill()
        assert len(workers_of(one.workers[1].pid)) <= 1
        wait_until(lambda: not workers_of(one.workers[1].pid), "the run's processes end")
    assert orphans and all_end(orphans), "a process outlived its Dask worker"
    assert sorted(statuses(graded)) == sorted(sources)
    assert len(jobs) > 10 and any("threads" in text for text in said)
    with Runner(pack) as runner:
        local = {
            name: told(runner.grade(job.submissions[0])) for name, job in zip(sources, jobs, strict=True)
        }
    for record in local.values():
        record["isolation"].pop("layers")
    assert {one.record.submission.id: equal(one) for one in graded} == local
    for result in graded:
        name = result.record.submission.id
        assert sorted(result.pages) == [f"students/{name}.html", f"teacher/{name}.html"]
        assert all(page.startswith(b"<!") for page in result.pages.values())


def test_submissions_of_one_job_and_no_pages(pack: Pack, shared: Cluster) -> None:
    names = ("ann", "bob")
    job = Job(
        tuple(submission(name, WRONG) for name in names), {"bob": (Adjustment("for the drawing", 1.0),)}
    )
    graded = list(run(pack, [job], shared.address))
    assert [one.record.submission.id for one in graded] == ["ann", "bob"]
    assert all(not one.pages for one in graded)
    assert list(run(pack, [], shared.address)) == []


def test_jobs_are_asked_for_when_the_scheduler_has_room_for_them(
    pack: Pack, shared: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "JOBS_AT_LEAST", 3)
    monkeypatch.setattr(cluster_module, "JOBS_PER_THREAD", 1)
    jobs = Counted(jobs_of(right(16)))
    ahead = []
    for number, _ in enumerate(run(pack, jobs, shared.address), start=1):
        ahead.append(jobs.asked - number)
    assert len(ahead) == jobs.asked == 16
    assert max(ahead) <= 3


@pytest.mark.slow
def test_a_cluster_is_shared_and_a_run_that_is_left_leaves_it(pack: Pack, shared: Cluster) -> None:
    with distributed.Client(shared.address, set_as_default=False) as other:
        kept = other.submit(pow, 3, 4, key="of-another")
        assert kept.result() == 81
        results = run(pack, jobs_of({**right(40), "z": ENDLESS}), shared.address)
        assert next(results).record.status == "passed"
        results.close()
        for worker in shared.workers:
            wait_until(lambda pid=worker.pid: not workers_of(pid), "the run's processes end")
        assert kept.result() == 81 and other.submit(pow, 2, 5).result() == 32
        # What was handed over is forgotten, and another run finds everything as it was.
        wait_until(lambda: not any(k.startswith("grade-") for k in other.processing()), "tasks are cancelled")
        assert set(statuses(run(pack, jobs_of(right(5)), shared.address)).values()) == {"passed"}


@pytest.mark.slow
def test_the_address_of_a_worker_is_no_scheduler(pack: Pack, shared: Cluster) -> None:
    with distributed.Client(shared.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        worker = next(iter(client.scheduler_info()["workers"]))
    with pytest.raises(GraderError, match=r"what answers there is a Dask Worker.*tcp://host:8786"):
        list(run(pack, jobs_of(right(1)), worker))


@pytest.mark.slow
def test_as_many_processes_as_threads(pack: Pack, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", workers=1, threads=2) as one:
        most = 0
        for _ in run(pack, jobs_of({f"s{n}": SLOW for n in range(12)}), one.address):
            most = max(most, len(workers_of(one.workers[0].pid)))
        assert most == 2


@pytest.mark.slow
def test_all_workers_killed_and_new_ones_later(pack: Pack, tmp_path: Path) -> None:
    sources = right(30)
    said: list[str] = []
    graded: list[Graded] = []
    with cluster(tmp_path / "cluster") as one:
        late: list[threading.Timer] = []
        for result in run(pack, jobs_of(sources), one.address, notify=said.append):
            graded.append(result)
            if len(graded) == 3:
                for worker in one.workers:
                    worker.kill()
                # Later than the notice that nobody is there.
                late.append(threading.Timer(8, one.start_worker))
                late[0].start()
        late[0].join()
    assert statuses(graded) == dict.fromkeys(sources, "passed")


@pytest.mark.slow
def test_a_worker_that_is_told_to_go_ends_its_processes_and_its_job_goes_elsewhere(
    pack: Pack, tmp_path: Path
) -> None:
    sources = {f"s{n:02}": SLOW for n in range(16)}
    graded: list[Graded] = []
    with cluster(tmp_path / "cluster") as one:
        started: list[int] = []
        for result in run(pack, jobs_of(sources), one.address):
            graded.append(result)
            if len(graded) == 2:
                wait_until(lambda: all(workers_of(w.pid) for w in one.workers), "both at work")
                started = below(one.workers[0].pid)
                one.workers[0].terminate()
        assert started and all_end(started)
    assert statuses(graded) == dict.fromkeys(sources, "passed")


@pytest.mark.slow
def test_a_submission_that_kills_its_worker_process_costs_no_one_else(pack: Pack, tmp_path: Path) -> None:
    # Confined, it could not.
    open_door = {WITHOUT: ",".join(confinement.LAYERS)}
    killer = KILLER.replace("NAME", "grader.batch.worker")
    sources = {"aaa": killer, **right(12), "zzz": killer}
    one = Cluster(tmp_path / "cluster")
    try:
        one.start_scheduler()
        for _ in range(2):
            one.start_worker(settings=open_door)
        graded = list(run(pack, jobs_of(sources), one.address, weak_isolation=True, reports=True))
        assert all(worker.poll() is None for worker in one.workers)
    finally:
        assert one.close() == []
    assert statuses(graded) == {n: "grader_fault" if n in ("aaa", "zzz") else "passed" for n in sources}
    for result in graded:
        if result.record.status == "grader_fault":
            assert result.record.score is None and "worker process ended" in result.record.message
            assert len(result.pages) == 2


@pytest.mark.slow
def test_a_submission_that_kills_dask_workers_costs_no_one_else(pack: Pack, tmp_path: Path) -> None:
    open_door = {WITHOUT: ",".join(confinement.LAYERS)}
    sources = {"aaa": KILLER.replace("NAME", "distributed.cli.dask_worker"), **right(12)}
    one = Cluster(tmp_path / "cluster")
    done = threading.Event()

    def replace() -> None:
        # As a cluster does that keeps its size.
        while not done.wait(0.1):
            for worker in [w for w in one.workers if w.poll() is not None]:
                one.workers.remove(worker)
                one.start_worker(settings=open_door)

    keeper = threading.Thread(target=replace)
    try:
        one.start_scheduler({"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"})
        for _ in range(2):
            one.start_worker(settings=open_door)
        keeper.start()
        graded = list(run(pack, jobs_of(sources), one.address, weak_isolation=True))
    finally:
        done.set()
        keeper.join()
        assert one.close() == []
    assert statuses(graded) == {n: "grader_fault" if n == "aaa" else "passed" for n in sources}
    (fault,) = [g.record for g in graded if g.record.status == "grader_fault"]
    assert fault.score is None and "Dask workers" in fault.message


@pytest.mark.slow
def test_the_scheduler_is_killed_and_another_one_starts_there(pack: Pack, tmp_path: Path) -> None:
    sources = right(40)
    said: list[str] = []
    graded: list[Graded] = []
    with cluster(tmp_path / "cluster") as one:
        again: list[threading.Thread] = []

        def restart() -> None:
            one.start_scheduler()
            for _ in range(2):
                one.start_worker()

        for result in run(pack, jobs_of(sources), one.address, notify=said.append):
            graded.append(result)
            if len(graded) == 5:
                assert one.scheduler is not None
                one.scheduler.kill()
                one.scheduler.wait()
                again.append(threading.Timer(2, restart))
                again[0].start()
        again[0].join()
    assert statuses(graded) == dict.fromkeys(sources, "passed")
    assert any("is lost" in text for text in said) and any("again" in text for text in said)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["cut", "frozen", "frozen and cut later"])
def test_the_network_fails(pack: Pack, shared: Cluster, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(cluster_module, "PING_S", 0.5)
    monkeypatch.setattr(cluster_module, "LOST_S", 4.0)
    monkeypatch.setattr(cluster_module, "CONNECT_S", 3.0)
    sources = right(40)
    said: list[str] = []
    graded: list[Graded] = []
    network = Network(shared.port)
    timers: list[threading.Timer] = []
    try:
        for result in run(pack, jobs_of(sources), network.address, notify=said.append):
            graded.append(result)
            if len(graded) == 5:
                assert network.connections
                if fault == "cut":
                    network.cut()
                else:
                    network.freeze()
                    timers.append(threading.Timer(9, network.thaw))
                    if fault != "frozen":
                        timers.append(threading.Timer(6, network.cut))
                    for timer in timers:
                        timer.start()
        for timer in timers:
            timer.join()
    finally:
        network.close()
    assert statuses(graded) == dict.fromkeys(sources, "passed")
    assert any("is lost" in text for text in said)


@pytest.mark.slow
def test_no_worker_joins(pack: Pack, tmp_path: Path) -> None:
    one = Cluster(tmp_path / "cluster")
    said: list[str] = []
    try:
        one.start_scheduler()
        with pytest.raises(GraderError) as caught:
            list(run(pack, jobs_of(right(3)), one.address, notify=said.append, patience_s=4.0))
    finally:
        one.close()
    assert len(said) == 1 and f"no worker is at {one.address}" in said[0]
    for text in ("within 4 s", "0 submissions are graded", f"dask worker {one.address}"):
        assert text in str(caught.value)


@pytest.mark.slow
def test_the_scheduler_does_not_come_back(pack: Pack, tmp_path: Path) -> None:
    graded: list[Graded] = []
    with cluster(tmp_path / "cluster", workers=1) as one, pytest.raises(GraderError) as caught:
        for result in run(pack, jobs_of(right(30)), one.address, patience_s=2.0):
            graded.append(result)
            if len(graded) == 2:
                assert one.scheduler is not None
                one.scheduler.kill()
    assert f"{len(graded)} submissions are graded and kept" in str(caught.value)


@pytest.mark.slow
def test_hosts_that_cannot_give_equal_results_are_named(pack: Pack, tmp_path: Path) -> None:
    one = Cluster(tmp_path / "cluster")
    wrong = {
        "grader 0.1.0 is needed and it has 0.0.1": "import grader; grader.__version__ = '0.0.1'",
        "python": "import platform; platform.python_version_tuple = lambda: ('2', '7', '1')",
        "it has 1.0": "import numpy; numpy.__version__ = '1.0'",
        "can't import grader": "import sys; sys.modules['grader'] = None",
        "landlock": f"import os; os.environ[{WITHOUT!r}] = 'landlock'",
        "its grader 0.1.0 is of other code (ffffff, and": (
            "from grader.batch import surroundings; surroundings.whole_digest = lambda: 'ffffff'"
        ),
    }
    try:
        one.start_scheduler()
        for before in wrong.values():
            one.start_worker(before=before)
        with distributed.Client(one.address, set_as_default=False) as client:
            client.wait_for_workers(len(wrong), timeout=60)
        with pytest.raises(GraderError) as caught:
            list(run(pack, jobs_of(right(3)), one.address))
        lines = [line for line in str(caught.value).splitlines() if "the worker tcp://" in line]
        assert len(lines) == len(wrong)
        for text in wrong:
            assert sum(text in line for line in lines) == 1, (text, lines)
        assert socket.gethostname() in lines[0] + lines[1]
        assert all(not workers_of(worker.pid) for worker in one.workers), "something was run"
    finally:
        assert one.close() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("import numpy; numpy.__version__ = '1.0'", "numpy .* is needed and it has 1.0"),
        ("import sys; sys.modules['grader'] = None", "can't import grader"),
        (f"import os; os.environ[{WITHOUT!r}] = 'landlock'", "isolates submissions only at .* landlock"),
    ],
)
def test_a_host_that_joins_late_is_asked_too(pack: Pack, tmp_path: Path, before: str, expected: str) -> None:
    graded: list[Graded] = []
    with (
        cluster(tmp_path / "cluster", workers=1) as one,
        pytest.raises(GraderError, match=expected) as caught,
    ):
        for result in run(pack, jobs_of({f"s{n:03}": SLOW for n in range(600)}), one.address):
            graded.append(result)
            if len(graded) == 1:
                one.start_worker(before=before)
            assert len(graded) < 600
    assert f"{len(graded)} submission" in str(caught.value)


@pytest.mark.slow
def test_a_scheduler_needs_no_grader(pack: Pack, tmp_path: Path) -> None:
    one = Cluster(tmp_path / "cluster")
    try:
        one.start_scheduler(before="import sys; sys.modules['grader'] = None")
        one.start_worker()
        assert statuses(run(pack, jobs_of(right(3)), one.address)) == dict.fromkeys(right(3), "passed")
    finally:
        assert one.close() == []


@pytest.mark.slow
def test_a_host_on_which_processes_cannot_start_is_named(pack: Pack, tmp_path: Path) -> None:
    # A grader whose worker processes can't start.
    broken = tmp_path / "broken" / "grader" / "batch"
    broken.mkdir(parents=True)
    (broken.parent / "__init__.py").write_text("")
    (broken / "__init__.py").write_text("")
    (broken / "worker.py").write_text("raise SystemExit(1)\n")
    one = Cluster(tmp_path / "cluster")
    before = "import pathlib, grader.batch.process as p; p.ROOT = pathlib.Path(%r)"
    try:
        one.start_scheduler()
        one.start_worker(before=before % str(broken.parents[1]))
        with pytest.raises(GraderError, match=r"can't start what grades.*0 submissions are graded"):
            list(run(pack, jobs_of(right(6)), one.address))
    finally:
        assert one.close() == []


# Where the tests run in the background, an interrupt is ignored unless it is asked for.
OWNER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = {path!r}
from pathlib import Path
from grader.batch.cluster import grade_on_cluster
from grader.exercise import pack as packs
from test_cluster import jobs_of, right, SLOW
pack = packs.load(Path({pack!r}))
sources = {{**right(3), **{{f"z{{n}}": SLOW for n in range(60)}}}}
for graded in grade_on_cluster(pack, jobs_of(sources), {address!r}, reports=True, weak_isolation=False):
    print(graded.record.submission.id, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_interrupted_leaves_the_cluster_alive(
    pack: Pack, shared: Cluster, tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "exercise.pack").write_bytes(pack.data)
    path = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "batch")]
    code = OWNER.format(path=path, pack=str(tmp_path / "exercise.pack"), address=shared.address)
    owner = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None and owner.stderr is not None
    try:
        assert owner.stdout.readline()
        owner.send_signal(how)
        _, said = owner.communicate(timeout=60)
    finally:
        owner.kill()
        owner.wait()
    if how == signal.SIGINT:
        assert said.rstrip().endswith("KeyboardInterrupt"), said
        for worker in shared.workers:
            wait_until(lambda pid=worker.pid: not workers_of(pid), "the run's processes end")
    assert statuses(run(pack, jobs_of(right(4)), shared.address)) == dict.fromkeys(right(4), "passed")
    assert all(worker.poll() is None for worker in shared.workers)


def test_dask_is_not_installed(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GraderError, match=r'pip install "mlm-grader\[dask\]"'):
        list(run(pack, jobs_of(right(1)), "tcp://127.0.0.1:8786"))


@pytest.mark.parametrize(
    "address", ["", "nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:0x", "ftp://a:1"]
)
def test_an_address_that_is_none(pack: Pack, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    with pytest.raises(GraderError, match=r"can't be used as a Dask scheduler: .*tcp://host:8786"):
        list(run(pack, jobs_of(right(1)), address))


def test_nothing_listens_there(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    with pytest.raises(GraderError, match=r"can't be used as a Dask scheduler: .*tcp://host:8786"):
        list(run(pack, jobs_of(right(1)), f"tcp://127.0.0.1:{free_port()}"))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20, None])
def test_something_else_listens_there(
    pack: Pack, monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    monkeypatch.setattr(cluster_module, "CONNECT_S", 1.0)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)

        def serve() -> None:
            held: list[socket.socket] = []
            while not ended.is_set():
                try:
                    one, _ = server.accept()
                except TimeoutError:
                    continue
                if answer is None:
                    # It says nothing at all.
                    held.append(one)
                    continue
                one.sendall(answer)
                one.close()
            for one in held:
                one.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with pytest.raises(GraderError, match=r"can't be used as a Dask scheduler: .*tcp://host:8786"):
                list(run(pack, jobs_of(right(1)), f"tcp://127.0.0.1:{server.getsockname()[1]}"))
        finally:
            ended.set()
            thread.join()


def test_a_process_for_which_nothing_comes_ends(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "LINGER_S", 0.2)
    processes = tasks._Processes()
    try:
        process = processes.take("run", {"reports": None, "pages": "none", "weak_isolation": True}, pack.data)
        assert isinstance(process, WorkerProcess)
        processes.give_back("run", process)
        wait_until(lambda: process.process.poll() is not None, "it ends")
        assert (
            processes.try_out("run", {"reports": None, "pages": "none", "weak_isolation": True}, pack.data)
            == ""
        )
        processes.release("run")
        with pytest.raises(tasks._ReleasedError):
            processes.take("run", {}, pack.data)
    finally:
        processes.close()
