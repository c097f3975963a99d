"""The pytest plugin: ``pytest --grader-exercise NAME solution.py`` makes every check of a file a test.

Without the option it adds nothing to a run and imports nothing of the grader. What is collected comes from
the exercise's pack alone; the file is graded when the first of its tests is run, once in each process.
"""

from __future__ import annotations

import fnmatch
import io
import os
import shlex
import shutil
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.batch.runner import Runner
    from grader.exercise.pack import Pack
    from grader.result import CaseResult, Result

LOADS, POLICY = "loads", "policy"
SUFFIXES = (".py", ".ipynb")


class NotPassedError(Exception):
    """A check did not pass; the text says why, as ``grader check`` does."""


class FaultError(Exception):
    """The grader or the command is at fault, not the submission."""


@dataclass
class _Graded:
    """A submission's record in the view of students, and its text."""

    result: Result
    source: str


@dataclass
class _State:
    """What one process knows: the exercise, and what was graded."""

    pack: Pack
    root: str
    exercise: str
    runner: Runner | None = None
    graded: dict[Path, _Graded | FaultError] = field(default_factory=dict)

    def grade(self, path: Path) -> _Graded:
        """The record of a file, made when it is asked for first. Raises FaultError."""
        if path not in self.graded:
            from grader.errors import GraderError, OwnFaultError

            try:
                self.graded[path] = self._grade(path)
            except (GraderError, OwnFaultError) as error:
                self.graded[path] = FaultError(str(error))
        found = self.graded[path]
        if isinstance(found, FaultError):
            raise found
        return found

    def _grade(self, path: Path) -> _Graded:
        from grader.batch.asking import asked_of
        from grader.batch.runner import Runner
        from grader.intake.collect import collect, require_some

        intake = collect([path], asked_of(self.pack), single=True)
        require_some(intake)
        (submission,) = intake.submissions
        if self.runner is None:
            self.runner = Runner(self.pack)
        return _Graded(self.runner.grade(submission).for_student(), submission.source or "")

    def close(self) -> None:
        """End the processes in which submissions run."""
        if self.runner is not None:
            self.runner.close()
            self.runner = None


STATE: pytest.StashKey[_State] = pytest.StashKey()


# --- options ----------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options."""
    group = parser.getgroup("grader", "grading submissions")
    group.addoption(
        "--grader-exercise",
        metavar="NAME|PACK",
        help="grade the files named on the command line: every check of this exercise is a test",
    )
    group.addoption(
        "--grader-root",
        metavar="DIR",
        help="folder that holds cases/ and reference/ (default: GRADER_ROOT, the current folder or a parent)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the exercise, where one is named. Raises UsageError where there is none."""
    named, root = config.getoption("--grader-exercise"), config.getoption("--grader-root")
    if named is None:
        if root is not None:
            raise pytest.UsageError("--grader-root needs --grader-exercise NAME")
        return
    from grader.errors import GraderError
    from grader.exercise.resolve import resolve_pack

    try:
        pack = resolve_pack(named, Path(root) if root is not None else None, beside=_submissions(config))
    except GraderError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[STATE] = _State(pack, root or "", named)
    for name, clause in pack.exercise.clauses.items():
        config.addinivalue_line("markers", f"clause_{name}: checks of the clause {clause['title']}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Refuse a run that names an exercise and no submission."""
    config = session.config
    if STATE not in config.stash:
        return
    if not _submissions(config):
        raise pytest.UsageError(
            "--grader-exercise needs a submission: name its file, such as solution.py or work.ipynb; "
            f"files with a name such as {' or '.join(_names_of_tests(config)) or 'conftest.py'} are none"
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what grading has started."""
    state = config.stash.get(STATE, None)
    if state is not None:
        state.close()


# --- collection -------------------------------------------------------------------------------------


def _submissions(config: pytest.Config) -> list[Path]:
    """The submissions that the command line names."""
    named = [Path(argument.partition("::")[0]) for argument in config.args]
    return [path for path in named if _may_be_submission(path, config)]


def _may_be_submission(path: Path, config: pytest.Config) -> bool:
    """Whether a file that was named is a submission: any that pytest would not collect by its name."""
    if path.suffix.lower() not in SUFFIXES or path.name in ("conftest.py", "__init__.py", "setup.py"):
        return False
    return not any(
        path.match(pattern) if "/" in pattern else fnmatch.fnmatch(path.name, pattern)
        for pattern in _names_of_tests(config)
    )


def _names_of_tests(config: pytest.Config) -> Sequence[str]:
    """What pytest collects by its name; nothing where that is switched off (``-p no:python``)."""
    if not config.pluginmanager.has_plugin("python"):
        return ()
    patterns: Sequence[str] = config.getini("python_files")
    return patterns


def _is_submission(path: Path, parent: pytest.Collector) -> bool:
    config = parent.config
    return STATE in config.stash and parent.session.isinitpath(path) and _may_be_submission(path, config)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> SubmissionFile | None:
    """A submission instead of a module, which would be imported here."""
    if not _is_submission(module_path, parent):
        return None
    return SubmissionFile.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """A submission once, and nothing that another plugin would collect of it, which may import or run it."""
    found = yield
    if not _is_submission(file_path, parent):
        return found
    return [one for one in found if isinstance(one, SubmissionFile)] or [
        SubmissionFile.from_parent(parent, path=file_path)
    ]


class SubmissionFile(pytest.File):
    """A file that was handed in."""

    def collect(self) -> Iterator[SubmissionItem]:
        """Its tests: that it loads, that it uses no banned helper, and every check of the exercise."""
        pack = self.config.stash[STATE].pack
        yield SubmissionItem.from_parent(self, name=LOADS, number=-1)
        if pack.exercise.policy.get("rules"):
            yield SubmissionItem.from_parent(self, name=POLICY, number=-1)
        hidden = 0
        for number, case in enumerate(pack.cases):
            name = case.id
            if case.visibility == "hidden":
                # As in a student's record.
                hidden += 1
                name = f"hidden_{hidden:02d}"
            item = SubmissionItem.from_parent(self, name=name, number=number)
            item.add_marker(f"clause_{case.clause}")
            item.extra_keyword_matches |= {case.clause, case.visibility}
            yield item


class SubmissionItem(pytest.Item):
    """One check of a submission.

    Attributes:
        number: Its place among the pack's cases; -1 for what is asked of the file as a whole.
    """

    def __init__(self, *, number: int, **options: Any) -> None:
        super().__init__(**options)
        self.number = number
        self.graded: _Graded | None = None

    @property
    def state(self) -> _State:
        """What this process knows."""
        return self.config.stash[STATE]

    @property
    def file(self) -> str:
        """The file's path as it is written where the command was given."""
        return os.path.relpath(self.path, self.config.invocation_params.dir)

    def setup(self) -> None:
        """Grade the file, if that is still to be done. Raises FaultError."""
        self.graded = self.state.grade(self.path)
        result = self.graded.result
        case = result.cases[self.number] if self.number >= 0 else None
        if result.status == "grader_fault" or (case is not None and case.verdict == "grader_fault"):
            raise FaultError(result.message)
        if case is not None:
            self.user_properties += [
                ("clause", case.clause),
                ("verdict", case.verdict),
                ("points", case.points),
                ("max_points", case.max_points),
            ]

    def runtest(self) -> None:
        """Pass, fail or skip as it was decided."""
        assert self.graded is not None
        result = self.graded.result
        if self.number >= 0:
            self._judge(result.cases[self.number])
        elif self.name == LOADS and result.status == "not_loadable":
            self._show(result.output.stdout, result.output.stderr)
            raise NotPassedError(_cleaned(result.message))
        elif self.name == POLICY and result.policy.violations:
            raise NotPassedError("\n".join(_cleaned(v.message) for v in result.policy.violations))
        elif self.name == POLICY and result.status == "not_loadable":
            # Of such a file not even the source may have been looked through.
            pytest.skip("Not decided, since the file could not be loaded.")

    def _judge(self, case: CaseResult) -> None:
        if case.verdict == "skipped":
            pytest.skip(_cleaned(case.message))
        if not case.failed:
            return
        if case.visibility == "hidden":
            title = self.state.pack.exercise.clauses[case.clause]["title"]
            raise NotPassedError(f"{_cleaned(title)}: {_cleaned(case.message)}")
        from grader.report.terminal.submission import case_report

        assert self.graded is not None
        details = dict(case.details)
        self._show(details.pop("stdout", ""), details.pop("stderr", ""))
        shown = case_report(
            replace(case, details=details),
            self.graded.source,
            self._command(),
            self.graded.result.submission.positions,
        )
        raise NotPassedError(_printed(shown))

    def _show(self, stdout: str, stderr: str) -> None:
        """What the submission printed, where pytest shows what a test printed."""
        for name, text in (("stdout", stdout), ("stderr", stderr)):
            if text:
                self.add_report_section("call", name, _cleaned(text, 4_000))

    def _command(self) -> str:
        """The command that checks the file alone."""
        words = ["grader", "check", self.file, "--exercise", self.state.exercise]
        words += ["--root", self.state.root] if self.state.root else []
        return shlex.join(words)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text alone: a traceback would be one of the grader's."""
        if isinstance(excinfo.value, NotPassedError | FaultError):
            return _writable(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands; no line of the file is meant."""
        return self.path, None, self.name


# --- reports ----------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, pytest.TestReport]:
    """Add to a test's report what is said of the file as a whole, from wherever the test is run."""
    report: pytest.TestReport = yield
    if not isinstance(item, SubmissionItem) or item.graded is None or call.when != "call":
        return report
    if report.skipped and isinstance(report.longrepr, tuple):
        # The reason is in the file that was handed in, not where this module says so.
        report.longrepr = (str(item.path), 1, report.longrepr[2])
    # A worker of xdist sends what a report holds to the process that prints.
    report.__dict__["grader_file"] = item.file
    report.__dict__["grader_summary"] = _summary(item.graded.result)
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Score and diagnosis of every file that was graded, once."""
    if STATE not in config.stash:
        return
    told: dict[str, str] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "grader_summary"):
                told.setdefault(report.grader_file, report.grader_summary)
    for file, text in sorted(told.items()):
        terminalreporter.section(file)
        terminalreporter.write_line(text)


def _summary(result: Result) -> str:
    """What ``grader check`` shows of a file apart from its checks."""
    from grader.report.terminal.submission import check_report
    from grader.result import Output

    output = result.output if result.status == "not_loadable" else Output()
    whole = replace(result, cases=(), output=output)
    # What holds least is told by the cases, which have tests of their own.
    whole.__dict__["_broken"] = result.broken_clauses()
    return _printed(check_report(whole))


def _printed(content: RenderableType) -> str:
    from rich.console import Console

    from grader.report.terminal.console import show

    text = io.StringIO()
    width = max(shutil.get_terminal_size().columns, 40)
    show(Console(file=text, width=width, color_system=None, highlight=False), content)
    return _writable(text.getvalue().strip("\n"))


def _cleaned(text: str, limit: int = 1_000) -> str:
    from grader.report.texts import clean

    return _writable(clean(text, limit))


def _writable(text: str) -> str:
    """The text with plainer signs where the terminal lacks Unicode; pytest would escape even its lines."""
    from grader import signs

    # What pytest captures hides the terminal; workers of xdist have none, but the same environment.
    encoding = getattr(sys.__stdout__, "encoding", None) or "utf-8"
    return text.encode(encoding, signs.register()).decode(encoding)
