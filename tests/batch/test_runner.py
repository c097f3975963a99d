"""One submission graded: the right server, a second try, and a fault of the grader that costs nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest
from classes import SOURCES, told
from support.small import RIGHT

from grader.batch import runner as runner_module
from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.sandbox import server as server_module
from grader.sandbox.server import ForkServer, PackageMissingError

STARTED: list[str] = []


class Recorded(ForkServer):
    """A numpy server that says it is of another kind."""

    def __init__(self, kind: str = "numpy") -> None:
        STARTED.append(kind)
        super().__init__("numpy")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    STARTED.clear()
    monkeypatch.setattr(runner_module, "ForkServer", Recorded)
    yield STARTED


@pytest.fixture
def wide(pack: Pack) -> Pack:
    """The exercise with more packages allowed."""
    return replace(pack, exercise=replace(pack.exercise, packages=("numpy", "scipy", "torch")))


def submission(source: str | None, name: str = "ann", problem: str = "") -> Submission:
    return Submission(name, name, f"{name}.py", "sha256:1", source, problem, (name,))


EXPECTED = {
    "ann": ("passed", set()),
    "bob": ("failed", {"wrong_value", "relation_violated"}),
    "cem": ("failed", {"input_mutated"}),
    "dot": ("not_loadable", {"skipped"}),
    "eve": ("failed", {"crashed", "skipped"}),
    "fay": ("failed", {"raised", "skipped"}),
    "gil": ("failed", set()),
    "hal": ("failed", {"wrong_value", "skipped"}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_submission_gets_its_status_and_verdicts(shared_runner: Runner, name: str) -> None:
    status, verdicts = EXPECTED[name]
    result = shared_runner.grade(submission(SOURCES[name], name))
    assert result.status == status
    assert {case.verdict for case in result.cases} - {"passed"} == verdicts
    assert [case.id for case in result.cases] == [case.id for case in shared_runner.pack.cases]
    assert result.score == (result.max_score if status == "passed" else result.score)
    assert result.policy.status == ("violated" if name == "gil" else "clean")
    if name == "gil":
        assert result.score == 0 and result.adjustments


def test_a_file_without_text_is_not_loadable(shared_runner: Runner) -> None:
    result = shared_runner.grade(submission(None, problem="The file is empty."))
    assert (result.status, result.score, result.message) == ("not_loadable", 0.0, "The file is empty.")
    assert {case.verdict for case in result.cases} == {"skipped"}


def test_the_same_submission_gets_the_same_record(shared_runner: Runner) -> None:
    for name in ("bob", "eve", "fay"):
        first, second = (shared_runner.grade(submission(SOURCES[name], name)) for _ in range(2))
        assert told(first) == told(second)


IMPORTS = {
    "numpy": ("import numpy as np\n", ["numpy"]),
    "none": ("", ["numpy"]),
    # Never run: only what the source says counts, and importing torch takes seconds.
    "torch": ("if 0:\n    import torch\n", ["numpy", "torch"]),
    "torch_inside": ("def g():\n    import torch.nn.functional as F\n", ["numpy", "torch"]),
    "scipy": ("if 0:\n    from scipy import special\n", ["numpy", "scipy"]),
    "both": ("if 0:\n    import scipy\n    import torch\n", ["numpy", "torch"]),
    "a_word_in_a_text": ("'''\nimport torch\n'''\n", ["numpy"]),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_a_server_is_started_only_when_a_submission_needs_it(
    wide: Pack, started: list[str], name: str
) -> None:
    text, kinds = IMPORTS[name]
    with Runner(wide) as runner:
        assert started == []
        result = runner.grade(submission(text + RIGHT))
        assert started == kinds, result.message
        runner.grade(submission(RIGHT))
        runner.grade(submission(text + RIGHT))
        assert started == kinds


def test_a_package_that_the_exercise_does_not_allow_starts_no_server(pack: Pack, started: list[str]) -> None:
    with Runner(pack) as runner:
        result = runner.grade(submission("import torch\n" + RIGHT))
    assert started == ["numpy"] and result.status == "not_loadable"
    assert "torch may not be used" in result.message and "numpy" in result.message


@pytest.mark.slow
def test_a_submission_with_torch_is_graded_by_a_server_with_torch(wide: Pack) -> None:
    source = RIGHT.replace("import numpy as np", "import torch").replace(
        "return factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))",
        "x, w = torch.from_numpy(x.copy()).double(), torch.from_numpy(w.copy()).double()\n"
        "    return factor * (x @ w) / (1 + (x * x).mean(1, keepdim=True))",
    )
    writes = (
        "import torch\n"
        + RIGHT.replace(
            "return factor",
            "answer = factor",
        )
        .rstrip()
        .removesuffix("\n")
        + "\n    torch.from_numpy(x).mul_(2)\n    return answer\n"
    )
    with Runner(wide) as runner:
        assert runner.grade(submission(source)).status == "passed"
        result = runner.grade(submission(writes))
    assert {c.verdict for c in result.cases if c.verdict != "passed"} == {"input_mutated"}


def test_a_server_that_was_killed_is_replaced_once_per_submission(pack: Pack) -> None:
    with Runner(pack) as runner:
        for _ in range(3):
            assert runner.grade(submission(RIGHT)).status == "passed"
            os.kill(runner.start().pid, signal.SIGKILL)
        assert runner.grade(submission(RIGHT)).status == "passed"


def test_a_server_that_was_started_ahead_is_used_and_ended(pack: Pack, started: list[str]) -> None:
    ahead = ForkServer()
    with Runner(pack, ahead) as runner:
        assert runner.grade(submission(RIGHT)).status == "passed"
        assert started == [] and runner.start() is ahead
    with pytest.raises(ProcessLookupError):
        os.kill(ahead.pid, 0)


def test_a_server_that_cannot_start_is_a_fault_of_the_grader(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SERVER_KINDS", {"numpy": ("no_such_package_here",)})
    with Runner(pack) as runner:
        result = runner.grade(submission(RIGHT))
    assert result.status == "grader_fault" and result.score is None
    assert {case.verdict for case in result.cases} == {"grader_fault"}
    assert "no_such_package_here" in result.message and "costs nothing" in result.message


def test_a_package_that_is_not_installed_is_a_fault_of_the_grader(
    wide: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def refuse(kind: str = "numpy") -> ForkServer:
        tries.append(kind)
        if kind == "torch":
            raise PackageMissingError("torch is not installed here; install mlm-grader[torch]")
        return ForkServer(kind)

    monkeypatch.setattr(runner_module, "ForkServer", refuse)
    with Runner(wide) as runner:
        result = runner.grade(submission("import torch\n" + RIGHT))
        assert result.status == "grader_fault" and result.score is None
        assert "mlm-grader[torch]" in result.message and tries == ["numpy", "torch"]
        assert runner.grade(submission(RIGHT)).status == "passed"


def test_closing_a_runner_ends_its_servers(pack: Pack) -> None:
    with Runner(pack) as runner:
        pid = runner.start().pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    runner.close()


AT_RANDOM = {
    "numpy": ("import numpy as np\n", "np.random.rand(len(x), w.shape[1])"),
    "python": ("import random\nimport numpy as np\n", "np.full((len(x), w.shape[1]), random.random())"),
    "hash": ("import numpy as np\n", "np.full((len(x), w.shape[1]), hash('a text') / 2**64)"),
    "printed_set": ("print({f'word {n}' for n in range(40)})\nimport numpy as np\n", "1 / 0"),
    "raised_set": (
        "import numpy as np\n",
        "exec('raise ValueError(str({chr(n) * 2 for n in range(97, 123)}))')",
    ),
}


@pytest.mark.parametrize("name", AT_RANDOM)
def test_what_is_random_is_the_same_in_every_run(pack: Pack, name: str) -> None:
    begin, answer = AT_RANDOM[name]
    source = f"{begin}def row_scale(x, w, factor):\n    return {answer}\n"
    records = []
    for others in (0, 2):
        with Runner(pack) as runner:
            for _ in range(others):
                runner.grade(submission(RIGHT))
            records.append(told(runner.grade(submission(source))))
    assert records[0] == records[1]
    assert records[0]["status"] == "failed"
