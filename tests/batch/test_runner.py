"""One submission graded: the right server, a second try, and a fault of the grader that costs nothing."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from classes import SOURCES, jobs_of, told, whole
from support.small import POLICY, RIGHT, WRONG, small_pack

from grader.batch import runner as runner_module
from grader.batch.jobs import Job
from grader.batch.pool import grade_all
from grader.batch.runner import Runner
from grader.batch.stored import Ran
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.outcomes import Execution
from grader.positions import Part
from grader.result import Adjustment, Result
from grader.sandbox import server as server_module
from grader.sandbox.analyst import Analysis, Analyst
from grader.sandbox.children import PackageMissingError, SandboxError
from grader.sandbox.execution import execute
from grader.sandbox.levels import WITHOUT
from grader.sandbox.packages import installed
from grader.sandbox.server import ForkedChild, ForkServer

STARTED: list[str] = []
needs_scipy = pytest.mark.skipif(not installed("scipy"), reason="scipy is not installed")


class Recorded(ForkServer):
    """A numpy server that says it is of another kind."""

    def __init__(self, kind: str = "numpy") -> None:
        STARTED.append(kind)
        super().__init__("numpy")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    STARTED.clear()
    monkeypatch.setattr(runner_module, "make_server", Recorded)
    yield STARTED


@pytest.fixture(scope="module")
def with_scipy(pack: Pack) -> Iterator[Runner]:
    """A runner of an exercise that allows scipy too."""
    with Runner(replace(pack, exercise=replace(pack.exercise, packages=("numpy", "scipy")))) as runner:
        yield runner


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A runner of an exercise whose rules say a great deal to whoever breaks them."""
    rule = POLICY["rules"][0] | {"instead": "Write the product with @. " * 12}
    with Runner(small_pack(tmp_path_factory.mktemp("wordy"), policy={"rules": [rule]})) as runner:
        yield runner


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


# In ways that the policy check does not see through.
COMPUTED = {
    "computed": "import importlib, json\nimportlib.import_module(json.loads('\"scipy\"') + '.special')\n",
    "dunder": "import json\ns = __import__(json.loads('\"scipy\"'))\nassert s.special.erf(0) == 0\n",
    "caught": "import json\ntry: s = __import__(json.loads('\"scipy\"'))\nexcept ImportError: s = None\n"
    "assert s is not None\n",
    "executed": "import json\nexec(json.loads('\"import scipy\"'))\nassert scipy.linalg\n",
}


@needs_scipy
@pytest.mark.parametrize("name", COMPUTED)
def test_a_package_that_is_found_out_at_loading_is_had_in_a_second_run(
    with_scipy: Runner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kinds: list[str] = []

    def recorded(server: ForkServer, *rest: Any, **options: Any) -> Execution:
        kinds.append(server.kind)
        return execute(server, *rest, **options)

    monkeypatch.setattr(runner_module, "execute", recorded)
    result = with_scipy.grade(submission(COMPUTED[name] + RIGHT))
    assert (result.status, result.score) == ("passed", with_scipy.pack.max_score), result.message
    assert kinds == ["numpy", "scipy"]
    kinds.clear()
    assert with_scipy.grade(submission(RIGHT)).status == "passed" and kinds == ["numpy"]
    kinds.clear()
    assert with_scipy.grade(submission("import scipy\n" + RIGHT)).status == "passed" and kinds == ["scipy"]


@pytest.mark.parametrize("lines", [1, 30, 60, 200])
def test_any_number_of_banned_helpers_that_only_running_shows_is_a_violation(
    wordy: Runner, lines: int
) -> None:
    hidden = "    e = getattr(np, json.loads('\"einsum\"'))\n" + "    e('nd,dk->nk', x, w)\n" * lines
    result = wordy.grade(submission("import json\n" + RIGHT.replace("    return", f"{hidden}    return")))
    assert result.policy.status == "violated" and (result.status, result.score) == ("failed", 0)
    assert 1 <= len(result.policy.violations) <= lines


def test_a_submission_that_keeps_asking_is_run_no_more_than_once_a_kind(
    wide: Pack, started: list[str]
) -> None:
    # All servers here are of kind numpy, so each run ends with the same need.
    for package, kinds in (("scipy", ["numpy", "scipy"]), ("torch", ["numpy", "torch"])):
        started.clear()
        with Runner(wide) as runner:
            text = f"import json\n__import__(json.loads('\"{package}\"'))\n"
            result = runner.grade(submission(text + RIGHT))
        assert started == kinds and result.status == "not_loadable"
        assert f"write `import {package}` at its top" in result.message


def test_a_package_that_a_submission_only_pretends_to_need_starts_no_server(
    pack: Pack, started: list[str]
) -> None:
    source = "import sys\n[g for g in sys.meta_path if hasattr(g, 'needs')][0].needs = 'torch'\n" + RIGHT
    with Runner(pack) as runner:
        result = runner.grade(submission(source))
    assert started == ["numpy"] and result.status == "passed"


def test_a_file_that_cannot_be_parsed_starts_no_child(
    shared_runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*rest: Any, **options: Any) -> Execution:
        raise AssertionError("it was run")

    monkeypatch.setattr(runner_module, "execute", refuse)
    for source in (SOURCES["dot"], "x = 1\0", "(" * 100_000, "\ud800 = 1"):
        result = shared_runner.grade(submission(source))
        assert (result.status, result.score) == ("not_loadable", 0.0), result.message
    assert shared_runner.grade(submission(RIGHT)).status == "grader_fault"


def test_a_check_that_ends_early_is_no_point_and_no_fault_of_the_grader(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Analysis({}, problem="the policy check ended early: too large")
    with Runner(pack) as runner:
        with monkeypatch.context() as patch:
            patch.setattr(Analyst, "analyze", lambda *a, **keys: ended)
            result = runner.grade(submission(RIGHT))
        assert (result.status, result.score) == ("not_loadable", 0.0)
        assert {case.verdict for case in result.cases} == {"skipped"}
        assert runner.grade(submission(RIGHT)).status == "passed"


def test_an_analyst_that_was_killed_costs_no_one(pack: Pack) -> None:
    with Runner(pack) as runner:
        for n in range(4):
            assert runner.grade(submission(RIGHT)).status == "passed", n
            analyst = runner._analyst
            assert analyst is not None and isinstance(analyst._child, ForkedChild)
            os.kill(analyst._child.pid, signal.SIGKILL)


def test_a_child_that_cannot_be_confined_is_a_fault_of_the_grader(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = ForkServer.start

    def start_beyond(self: ForkServer, job: Mapping[str, Any], memory: Any) -> Any:
        # No limit is that large.
        return start(self, {**job, "seconds": 1e30} if job["role"] == "submission" else job, memory)

    monkeypatch.setattr(ForkServer, "start", start_beyond)
    with Runner(pack) as runner:
        result = runner.grade(submission(RIGHT))
    assert (result.status, result.score) == ("grader_fault", None)
    assert "confined" in result.message


def test_the_level_of_isolation_is_that_of_the_servers(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    with Runner(pack) as runner:
        result = runner.grade(submission(RIGHT))
        server = runner.start()
        assert (result.isolation.level, result.isolation.layers) == (server.level, server.layers)
    monkeypatch.setenv(WITHOUT, "seccomp")
    with Runner(pack) as runner:
        # Known before anything runs too.
        unread = runner.grade(submission(None, problem="The file is empty."))
        result = runner.grade(submission(RIGHT))
    for one in (unread, result):
        assert one.isolation.level == "none" and "seccomp" not in one.isolation.layers


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
        computed = (
            "import json\ntorch = __import__(json.loads('\"torch\"'))\nassert torch.ones(2).sum() == 2\n"
        )
        found_out = runner.grade(submission(computed + RIGHT))
    assert {c.verdict for c in result.cases if c.verdict != "passed"} == {"input_mutated"}
    assert (found_out.status, found_out.score) == ("passed", wide.max_score), found_out.message


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

    monkeypatch.setattr(runner_module, "make_server", refuse)
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


# --- small calls after a failure --------------------------------------------------------------

# In a call of the influence map and in no other.
IN_THE_MAP = "x.shape == (3, 2) and w.shape == (2, 2) and (w == 1).all()"


def in_the_map(act: str) -> str:
    """A wrong submission that does something more when its influence is looked at."""
    return f"import os, sys, time\n{WRONG}".replace(
        "    return", f"    if {IN_THE_MAP}:\n        {act}\n    return"
    )


@pytest.fixture
def phases(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the phases of every execution."""
    seen: list[list[str]] = []

    def recorded(server: Any, program: Any, phases: Any, *rest: Any, **options: Any) -> Execution:
        seen.append([phase.name for phase in phases])
        return execute(server, program, phases, *rest, **options)

    monkeypatch.setattr(runner_module, "execute", recorded)
    return seen


def marks(result: Result) -> Any:
    """Everything that is decided, without what is found out afterwards."""
    return told(replace(result, influence=None, counterexample=None))


@pytest.mark.parametrize("name", ["bob", "cem", "fay", "hal"])
def test_small_calls_are_made_after_a_failure(
    stepped_runner: Runner, phases: list[list[str]], name: str
) -> None:
    result = stepped_runner.grade(submission(SOURCES[name], name))
    assert phases == [["public", "hidden"], ["follow_up"]]
    assert result.status == "failed"
    if name == "bob":
        assert result.diagnoses[0]["ids"] == ["mean_of_batch"]
        assert result.influence is not None and result.influence["obtained"] == ["111"] * 6
        assert result.counterexample is not None
        assert result.counterexample["misconception"] == "mean_of_batch"
        assert "from bob import row_scale" in result.counterexample["snippet"]


NO_MORE = {
    "passes": RIGHT,
    "prints": RIGHT + "print('x')\n",
    "cannot_be_parsed": SOURCES["dot"],
    "cannot_be_loaded": "1 / 0\n",
    "defines_nothing": "x = 1\n",
    "ends_in_a_call": SOURCES["eve"],
    "takes_too_long": "def row_scale(x, w, factor):\n    while True: pass\n",
    "sleeps": "import time\ndef row_scale(x, w, factor): time.sleep(60)\n",
    "takes_too_much": "def row_scale(x, w, factor): return bytearray(1 << 40)\n",
    "too_long_once": WRONG.replace("    return", "    while len(x) == 0: pass\n    return"),
    "helper_alone": SOURCES["gil"],
}


@pytest.mark.parametrize("name", NO_MORE)
def test_no_small_calls_are_made_where_they_tell_nothing_or_take_as_long_again(
    stepped_runner: Runner, phases: list[list[str]], name: str
) -> None:
    result = stepped_runner.grade(submission(NO_MORE[name]))
    assert ["follow_up"] not in phases and len(phases) <= 1
    assert (result.influence, result.counterexample) == (None, None)
    assert (result.status == "passed") == (name in ("passes", "prints"))


def test_an_unreadable_file_runs_nothing(stepped_runner: Runner, phases: list[list[str]]) -> None:
    stepped_runner.grade(submission(None, problem="The file is empty."))
    assert phases == []


@pytest.mark.parametrize("failures", [1, 2])
def test_a_sandbox_that_fails_in_a_small_call_costs_nothing(
    stepped: Pack, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    left = [failures]

    def failing(server: Any, program: Any, phases: Any, *rest: Any, **options: Any) -> Execution:
        if phases[0].name == "follow_up" and left[0]:
            left[0] -= 1
            raise SandboxError("the server has ended")
        return execute(server, program, phases, *rest, **options)

    with Runner(stepped) as runner:
        right = runner.grade(submission(WRONG))
        monkeypatch.setattr(runner_module, "execute", failing)
        result = runner.grade(submission(WRONG))
        assert left == [0]
        assert marks(result) == marks(right)
        # It is tried once more; after that the record goes without.
        assert (told(result) == told(right)) == (failures == 1)
        assert told(runner.grade(submission(WRONG))) == told(right)


def test_a_server_that_is_killed_before_the_small_calls_is_replaced(
    stepped: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = runner_module.choose
    with Runner(stepped) as runner:
        right = runner.grade(submission(WRONG))

        def killing(*rest: Any) -> Any:
            os.kill(runner.start().pid, signal.SIGKILL)
            return choose(*rest)

        monkeypatch.setattr(runner_module, "choose", killing)
        assert told(runner.grade(submission(WRONG))) == told(right)


@pytest.mark.parametrize("where", ["choose", "complete"])
def test_a_fault_of_ours_after_the_marks_leaves_them(
    stepped_runner: Runner, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    right = stepped_runner.grade(submission(WRONG))

    def fail(*rest: Any) -> Any:
        raise ZeroDivisionError("a secret of the pack")

    monkeypatch.setattr(runner_module, where, fail)
    result = stepped_runner.grade(submission(WRONG))
    assert marks(replace(result, undiagnosed="")) == marks(right)
    assert "ZeroDivisionError" in result.undiagnosed and "secret" not in result.undiagnosed


HARM = {
    "crashes": "os._exit(1)",
    "aborts": "os.abort()",
    "exits": "sys.exit('x')",
    "raises": "raise ValueError('x')",
    "prints": "print('y' * 100000)",
    "closes_streams": "sys.stdout.close(); os.close(1)",
    "mutates": "x[:] = w[:] = 0",
    "sleeps": "time.sleep(60)",
    "sleeps_a_little": "time.sleep(0.01)",
    "spins": "while True: pass",
    "takes_memory": "return bytearray(1 << 40)",
    "returns_much": "return np.zeros((1000, 1000))",
    "returns_nothing": "return None",
    "returns_odd_things": "return [object(), x]",
    "returns_nan": "return x * np.nan",
}


@pytest.mark.parametrize("name", HARM)
def test_what_a_small_call_does_changes_no_marks_and_no_diagnosis(
    stepped_runner: Runner, phases: list[list[str]], name: str
) -> None:
    right = stepped_runner.grade(submission(in_the_map("pass")))
    result = stepped_runner.grade(submission(in_the_map(HARM[name])))
    assert phases == [["public", "hidden"], ["follow_up"]] * 2
    assert marks(result) == marks(right), "what is said of it is what is said of the others"
    assert result.diagnoses[0]["ids"] == ["mean_of_batch"]
    again: Result = Result.from_dict(json.loads(json.dumps(result.to_dict())))
    assert told(again) == told(result)
    assert stepped_runner.grade(submission(RIGHT)).status == "passed"


def test_what_small_calls_print_reaches_no_record(stepped_runner: Runner) -> None:
    act = "print('only seen in the map'); print('nor this', file=sys.stderr)"
    result = stepped_runner.grade(submission(in_the_map(act)))
    assert result.influence is not None and "?" not in "".join(result.influence["obtained"])
    for text in ("only seen in the map", "nor this"):
        assert text not in json.dumps(result.to_dict())
        assert text not in json.dumps(result.for_student().to_dict())


def test_what_is_printed_at_loading_is_told_once(stepped_runner: Runner) -> None:
    result = stepped_runner.grade(submission("print('loaded')\n" + WRONG))
    assert result.influence is not None
    assert json.dumps(result.to_dict()).count("loaded") == 1


def test_time_of_small_calls_is_counted_but_not_as_time_of_calls(
    stepped: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Runner(stepped) as runner:
        busy = in_the_map("for _ in range(200_000): pass")
        with_calls = runner.grade(submission(busy)).timing
        monkeypatch.setattr(runner_module, "choose", lambda *rest: None)
        without = runner.grade(submission(busy)).timing
    assert with_calls.cpu_s > without.cpu_s > 0
    assert with_calls.wall_s > 0


def test_the_same_submission_gets_the_same_record_every_time(stepped: Pack) -> None:
    sources = {"wrong": WRONG, "unknown": RIGHT.replace("(1 +", "(2 +"), "mutates": SOURCES["cem"]}
    with Runner(stepped) as runner:
        records = [
            {name: told(runner.grade(submission(s))) for name, s in sources.items()} for _ in range(10)
        ]
    assert all(record == records[0] for record in records)
    assert all(record["counterexample"] for record in records[0].values())
    assert all(record["influence"] for record in records[0].values())


def test_two_workers_give_the_same_records_ten_times(stepped: Pack) -> None:
    sources = {
        "wrong": WRONG,
        "unknown": RIGHT.replace("(1 +", "(2 +"),
        "mutates": SOURCES["cem"],
        "ok": RIGHT,
    }
    handed_in = [submission(s, f"{name}{n:02}") for n in range(10) for name, s in sources.items()]
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for result in grade_all(stepped, jobs_of(handed_in), workers=2):
        found = told(whole(result))
        name = found.pop("submission")["id"]
        # A submission's name is in its text to paste.
        text = json.dumps(found).replace(name, "ann")
        records[name[:-2]].append(json.loads(text))
    with Runner(stepped) as runner:
        for name, source in sources.items():
            alone = told(runner.grade(submission(source)))
            alone.pop("submission")
            assert len(records[name]) == 10
            assert all(record == alone for record in records[name]), name


# --- run once, judged often -------------------------------------------------------------------


def job(*submissions: Submission, **options: Any) -> Job:
    return Job(submissions, **options)


def test_what_was_stored_is_judged_and_not_run(stepped_runner: Runner, phases: list[list[str]]) -> None:
    (first,), stored = stepped_runner.grade_job(job(submission(WRONG)))
    assert phases == [["public", "hidden"], ["follow_up"]] and stored is not None
    phases.clear()
    results, again = stepped_runner.grade_job(job(submission(WRONG), execution=stored))
    assert phases == [] and again is None
    assert results == [first]


def test_twins_are_run_once(stepped_runner: Runner, phases: list[list[str]]) -> None:
    ann = submission(WRONG)
    bob = replace(ann, id="bob", name="Bob", members=("Bob",), late=True, notes=("A note.",))
    results, stored = stepped_runner.grade_job(job(ann, bob))
    assert phases == [["public", "hidden"], ["follow_up"]] and stored
    assert [told(r) for r in results] == [told(stepped_runner.grade(one)) for one in (ann, bob)]
    assert results[0].timing == results[1].timing


HELPED = """\
from helpers import product


def row_scale(x, w, factor):
    return factor * product(x, w) / (1 + (x * x).mean(axis=1, keepdims=True))
"""


@pytest.mark.parametrize(
    ("product", "status"), [("a @ b", "passed"), ("np.einsum('nd,dk->nk', a, b)", "failed")]
)
def test_helper_modules_are_run_and_their_helpers_found(
    shared_runner: Runner, product: str, status: str
) -> None:
    helper = f"import numpy as np\n\n\ndef product(a, b):\n    return {product}\n"
    lines = len(HELPED.splitlines())
    one = replace(
        submission(HELPED + helper),
        parts=(
            Part("main", "ann.py", 1, lines),
            Part("module", "helpers.py", lines + 1, len(helper.splitlines()), "helpers"),
        ),
    )
    result = shared_runner.grade(one)
    assert result.status == status, result.message
    assert result.submission.parts == one.parts
    violations = result.policy.violations
    assert [result.submission.positions.name(v.line) for v in violations] == (
        [] if status == "passed" else ["helpers.py, line 5"]
    )


OTHERS: dict[str, Any] = {
    "text": {"source": WRONG + "# more\n"},
    "file": {"file": "other.py"},
    "parts": {"parts": (Part("main", "ann.py", 1, len(WRONG.splitlines())),)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_another_submission_gave_is_not_believed(
    stepped_runner: Runner, phases: list[list[str]], name: str
) -> None:
    other = replace(submission(WRONG), **OTHERS[name])
    kept = stepped_runner.run(other)
    with pytest.raises(ValueError, match="another submission"):
        stepped_runner.judge(submission(WRONG), kept)
    phases.clear()
    (result,), stored = stepped_runner.grade_job(job(submission(WRONG), execution=kept.to_bytes()))
    assert phases == [["public", "hidden"], ["follow_up"]] and stored
    assert told(result) == told(stepped_runner.grade(submission(WRONG)))


@pytest.mark.parametrize("damage", ["cut", "empty", "pack"])
def test_what_is_damaged_or_of_another_pack_is_run_again(
    stepped: Pack, stepped_runner: Runner, phases: list[list[str]], damage: str
) -> None:
    kept = stepped_runner.run(submission(WRONG))
    data = {"cut": kept.to_bytes()[:-1], "empty": b"", "pack": replace(kept, pack="sha256:0").to_bytes()}
    phases.clear()
    (result,), stored = stepped_runner.grade_job(job(submission(WRONG), execution=data[damage]))
    assert phases and stored and Ran.from_bytes(stored).pack == stepped.execution_digest
    assert told(result) == told(stepped_runner.grade(submission(WRONG)))
    with pytest.raises(ValueError, match="another pack"):
        stepped_runner.judge(submission(WRONG), replace(kept, pack="sha256:0"))


def test_what_takes_too_much_room_is_graded_and_not_kept(
    stepped_runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.batch.stored.MAX_BYTES", 100)
    (result,), stored = stepped_runner.grade_job(job(submission(RIGHT)))
    assert result.status == "passed" and stored is None


def test_points_given_by_hand_leave_the_rest_as_it_is(stepped_runner: Runner) -> None:
    plain = stepped_runner.grade(submission(WRONG))
    given = stepped_runner.grade(submission(WRONG), [Adjustment("for the effort", plain.max_score)])
    assert (plain.status, given.status) == ("failed", "passed")
    assert given.adjustments == (Adjustment("for the effort", plain.max_score),)
    assert given.counterexample == plain.counterexample is not None
    assert given.influence == plain.influence is not None
    # A twin of it is judged as if it had been run alone.
    boost = {"bob": (Adjustment("for the effort", plain.max_score),)}
    for order in (("ann", "bob"), ("bob", "ann")):
        twins = [replace(submission(WRONG), id=name) for name in order]
        results, _ = stepped_runner.grade_job(job(*twins, adjustments=boost))
        found = {r.submission.id: r for r in results}
        assert told(found["ann"]) == told(plain)
        assert told(found["bob"]) == told(given) | {"submission": found["bob"].submission.to_dict()}


def test_a_submission_that_is_at_no_fault_is_a_fault_of_the_grader(
    stepped_runner: Runner, phases: list[list[str]]
) -> None:
    one = replace(submission(None), fault="nbformat is not installed; pip install mlm-grader[notebooks]")
    (result,), stored = stepped_runner.grade_job(job(one))
    assert (result.status, result.score, stored, phases) == ("grader_fault", None, None, [])
    assert "mlm-grader[notebooks]" in result.message
    with pytest.raises(ValueError, match="ann has no text: nbformat is not installed"):
        stepped_runner.run(one)


def test_a_judge_that_fails_on_one_of_two_twins_costs_the_other_nothing(
    stepped_runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = runner_module.judging.judge

    def judge(context: Any, execution: Execution) -> Result:
        if context.submission.id == "ann":
            raise ZeroDivisionError("a mistake of ours")
        return honest(context, execution)

    monkeypatch.setattr(runner_module.judging, "judge", judge)
    for order in (("ann", "bob"), ("bob", "ann")):
        results, stored = stepped_runner.grade_job(job(*[replace(submission(RIGHT), id=n) for n in order]))
        found = {r.submission.id: r for r in results}
        assert [r.submission.id for r in results] == list(order) and stored
        assert found["ann"].status == "grader_fault" and "a mistake of ours" in found["ann"].message
        assert found["bob"].status == "passed"


def test_a_sandbox_that_fails_is_not_tried_for_each_twin(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def failing(*_: Any, **__: Any) -> Execution:
        tries.append("")
        raise SandboxError("the server has ended")

    monkeypatch.setattr(runner_module, "execute", failing)
    with Runner(pack) as runner:
        results, stored = runner.grade_job(job(*[replace(submission(RIGHT), id=f"s{n}") for n in range(5)]))
    assert len(tries) == 2 and stored is None
    assert [(r.submission.id, r.status) for r in results] == [(f"s{n}", "grader_fault") for n in range(5)]


def test_where_full_isolation_is_asked_for_nothing_is_run_without_it(
    pack: Pack, monkeypatch: pytest.MonkeyPatch, phases: list[list[str]]
) -> None:
    monkeypatch.setenv(WITHOUT, "landlock")
    with Runner(pack, weak_isolation=False) as runner:
        result = runner.grade(submission(RIGHT))
        assert (result.status, result.score, phases) == ("grader_fault", None, [])
        assert "can't be confined fully here (landlock is switched off" in result.message
        assert result.isolation.level != "full"
    with Runner(pack) as runner:
        assert runner.grade(submission(RIGHT)).status == "passed"
    monkeypatch.delenv(WITHOUT)
    with Runner(pack, weak_isolation=False) as runner:
        assert runner.grade(submission(RIGHT)).status == "passed"


# --- a damaged pack ---------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["known_data", "follow_data"])
def test_a_pack_whose_further_parts_are_damaged_costs_no_marks(stepped: Pack, part: str) -> None:
    handed_in = {name: SOURCES[name] for name in ("ann", "bob", "cem", "dot", "fay")}
    with Runner(stepped) as runner:
        right = {name: runner.grade(submission(s, name)) for name, s in handed_in.items()}
    whole_part: Mapping[str, bytes] = getattr(stepped, part)
    for tensor in ("meta", "pairs") if part == "known_data" else ("meta", "block"):
        cut = whole_part[tensor][: len(whole_part[tensor]) // 2]
        broken = replace(stepped, **{part: {**whole_part, tensor: cut}})  # type: ignore[arg-type]
        with Runner(broken) as runner:
            for name, source in handed_in.items():
                result = runner.grade(submission(source, name))
                assert (result.status, result.score) == (right[name].status, right[name].score)
                assert [c.verdict for c in result.cases] == [c.verdict for c in right[name].cases]
                # Without it only the name of the mistake is missing.
                mistake = right[name].message.partition(" The mistake: ")[0].rstrip(".")
                assert result.message.startswith(mistake)
                failed = result.status == "failed"
                assert ("The search for the mistake failed (GraderError)" in result.undiagnosed) == failed
