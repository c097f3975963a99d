"""``grader check FILE --case ID --debug``: one public case under a debugger, in this process."""

from __future__ import annotations

import argparse
import bdb
import contextlib
import importlib
import os
import pdb
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from grader.commands.shared import LESS_THAN_FULL, OK, console
from grader.errors import GraderError
from grader.exercise.driving import DRIVER, bound
from grader.exercise.rehearsal import function_for, rehearse
from grader.policy.pieces import CELL, MODULE, Piece, compile_all, cut, split_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.exercise.pack import Pack, PackCase
    from grader.intake.submission import Submission
    from grader.outcomes import StepOutcome

OTHER = "PYTHONBREAKPOINT's debugger stops just before the call: step in to see the first line"
NOWHERE = "PYTHONBREAKPOINT is 0, so nothing stops"
KEYS = "n next line · s step in · c run on · p NAME print · expected the right answer · q quit"


def debug(pack: Pack, chosen: argparse.Namespace) -> int:
    """Step through the calls of the chosen case, then say whether it holds.

    Nothing confines the submission. A case that does not hold gives status 1, as a check of it does; one that
    was left before its end gives 0.

    Raises:
        GraderError: The options do not name one public case and one submission with a text.
    """
    case = _case(pack, chosen)
    submission = _submission(pack, chosen)
    hook = _other_debugger()
    streams = _Streams()
    with _placed(submission, chosen.paths[0]) as (path, folders):
        program = _Program(submission, path, folders)
        with streams.kept():
            entry = program.load(pack, case, streams)
        if entry is None:
            return LESS_THAN_FULL
        called = pack.exercise.called(case.call)
        what = f"what {called} calls in" if pack.call(case).driven else f"{called} of"
        print(
            f"{case.id}: {what} {submission.filename} runs in plain Python here,\n"
            "without the sandbox, so only debug what you wrote yourself or trust."
        )
        stepping = _Stepping(entry, program.own, pack, case, hook, streams)
        cells = [f"{part.name} at {part.first}" for part in submission.parts if part.kind == CELL]
        if cells:
            print(f"Its cells begin at these lines of {path.name}: {', '.join(cells)}.")
        print(stepping.hint)
        with streams.kept():
            steps = {name: rehearse(stepping, block, pack.plans[name]) for name, block in pack.blocks.items()}
        if stepping.left:
            print(f"left before the end; {case.id} is not judged")
            return OK
        return _verdict(pack, case, submission, steps[case.visibility])


def _case(pack: Pack, chosen: argparse.Namespace) -> PackCase:
    for option in ("snippet", "json", "html"):
        if getattr(chosen, option):
            raise GraderError(f"--debug is a dialogue in the terminal; leave --{option} out")
    if chosen.require_isolation != "none":
        raise GraderError("--debug runs the file without isolation; leave --require-isolation out")
    if len(chosen.case) != 1 or chosen.clause:
        raise GraderError("--debug needs one --case ID and no --clause; grader explain CLAUSE lists the ids")
    (case,) = pack.cases
    if case.visibility == "hidden":
        raise GraderError(f"{case.id} is hidden; its inputs are not shown, so it can't be stepped through")
    return case


def _submission(pack: Pack, chosen: argparse.Namespace) -> Submission:
    from grader.commands.intake import single_submission

    submission = single_submission(chosen, pack, "--debug")
    if submission.source is None:
        raise GraderError(submission.problem or submission.fault)
    return submission


def _other_debugger() -> Callable[..., Any] | None:
    """What PYTHONBREAKPOINT names, as breakpoint() reads it; None for pdb.

    Raises:
        GraderError: It can't be imported.
    """
    named = os.environ.get("PYTHONBREAKPOINT", "")
    if named in ("", "pdb.set_trace"):
        return None
    if named != "0":
        module, _, function = named.rpartition(".")
        try:
            getattr(importlib.import_module(module or "builtins"), function)
        except (ImportError, AttributeError, ValueError):
            raise GraderError(
                f"PYTHONBREAKPOINT names {named!r}, which can't be imported; "
                "install it, or unset the variable"
            ) from None
    return sys.breakpointhook


# --- the submission ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _placed(submission: Submission, named: Path) -> Iterator[tuple[Path, list[Path]]]:
    """The file whose lines a debugger shows, and the folders that its modules are imported from.

    It is the student's own where that is a file with the text that runs; the cells of a notebook, and what
    lies in an archive, are written into a folder that is taken away at the end.
    """
    assert submission.source is not None
    path = Path(submission.path)
    cells = any(part.kind == CELL for part in submission.parts)
    if not cells and path.is_file():
        path = path.resolve()
        top = named.resolve() if named.is_dir() else path.parent
        above = [folder for folder in path.parents if folder.is_relative_to(top)]
        yield path, above or [path.parent]
        return
    with tempfile.TemporaryDirectory(prefix="grader-debug-") as name:
        folder = Path(name).resolve()
        main = folder / f"{submission.module}.py"
        main.write_text(submission.source, "utf-8", "replace")
        for part, piece in zip(submission.parts, _pieces(submission), strict=True):
            if part.kind == MODULE:
                file = folder.joinpath(*part.module.split("."))
                file = file / "__init__.py" if part.package else file.with_name(f"{file.name}.py")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(piece.text[part.first - 1 :], "utf-8", "replace")
        yield main, [folder]


def _pieces(submission: Submission) -> list[Piece]:
    assert submission.source is not None
    if not submission.parts:
        lines = len(split_lines(submission.source))
        whole = {"kind": "main", "name": "", "first": 1, "lines": lines, "module": "", "package": False}
        return cut(submission.source, [whole])
    return cut(submission.source, sorted(map(asdict, submission.parts), key=lambda part: part["first"]))


class _Streams:
    """Standard input, output and error as they were; a submission may replace or close them."""

    def __init__(self) -> None:
        self._streams = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}

    def restore(self) -> None:
        """Put them back."""
        for name, stream in self._streams.items():
            if stream is not None and stream.closed:
                # Python leaves the terminal itself open.
                number = ("stdin", "stdout", "stderr").index(name)
                self._streams[name] = open(  # noqa: SIM115
                    number,
                    "r" if number == 0 else "w",
                    encoding=stream.encoding,
                    errors=stream.errors,
                    closefd=False,
                )
            setattr(sys, name, self._streams[name])

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Put them back at the end."""
        try:
            yield
        finally:
            self.restore()

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Within it they are there; then again what the submission has put in their place."""
        others = {name: getattr(sys, name) for name in self._streams}
        self.restore()
        try:
            yield
        finally:
            for name, other in others.items():
                if other is None or not other.closed:
                    setattr(sys, name, other)


class _Program:
    """The submission's module, run as it is when it is graded."""

    def __init__(self, submission: Submission, path: Path, folders: list[Path]) -> None:
        self._submission = submission
        self._path = path
        # What is installed goes before a file of the same name, as in grading.
        sys.path += [str(folder) for folder in folders]

    def load(self, pack: Pack, case: PackCase, streams: _Streams) -> Callable[..., Any] | None:
        """What makes the case's call: the submission's function, or the driver's with the submission.

        None, and said why, when the module does not define it or can't be run.
        """
        pieces = _pieces(self._submission)
        compile_all(pieces, str(self._path))
        name = self._submission.module
        taken = name in sys.modules or name in sys.stdlib_module_names
        module = types.ModuleType(f"submission_{name}" if taken else name)
        module.__file__ = str(self._path)
        sys.modules[module.__name__] = module
        sys.argv[:] = [str(self._path)]
        for piece in pieces:
            if piece.kind == MODULE:
                continue
            try:
                if piece.error is not None:
                    raise piece.error
                assert piece.code is not None
                exec(piece.code, module.__dict__)
            except (Exception, SystemExit) as error:
                with streams.shown():
                    self._tell(error, piece)
                if piece.kind != CELL:
                    return None
        if pack.call(case).driven:
            calls = bound(pack.exercise.driver, module, (case.call,), pack.exercise.entry)
            return function_for(calls, case.call)
        entry = pack.exercise.called(case.call)
        found: Callable[..., Any] | None = module.__dict__.get(entry)
        if not callable(found):
            what = "does not define" if found is None else "has no function under the name"
            streams.restore()
            print(f"{self._submission.filename} {what} {entry}")
            return None
        return found

    def _tell(self, error: BaseException, piece: Piece) -> None:
        """The exception with the frames of the submission and of what it called."""
        what = piece.name if piece.kind == CELL else self._submission.filename
        print(f"{what} ends early:")
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != str(self._path):
            frames = frames.tb_next
        print("".join(traceback.format_exception(type(error), error, frames, chain=False)), end="")

    def own(self, filename: str) -> bool:
        """Whether code is the student's, by the file that it is from."""
        if filename == str(self._path):
            return True
        names = [part.module for part in self._submission.parts if part.kind == MODULE]
        return any(filename == getattr(sys.modules.get(name), "__file__", None) for name in names)


# --- the debugger -----------------------------------------------------------------------------------


def _is_graders(module: str) -> bool:
    """Whether a module of this name is the grader's or a driver."""
    return module.startswith("grader.") or module == DRIVER


class _Debugger(pdb.Pdb):
    """pdb that knows the expected answer, and begins in a frame that it is given."""

    def __init__(self, expected: Callable[[], RenderableType], streams: _Streams) -> None:
        # Where a call of the student's returns to is none of her code.
        super().__init__(skip=["grader.*", DRIVER])
        self.quitting = False
        self._expected = expected
        self._streams = streams

    def begin(self, frame: FrameType) -> Any:
        """Stop at the first line of a frame that is about to run; its callers are not stepped into."""
        self.reset()
        sys.settrace(self.trace_dispatch)
        return self.trace_dispatch(frame, "call", None)

    def interaction(self, frame: FrameType | None, traceback: TracebackType | None) -> None:
        """Talk to the user, whatever the submission has made of standard output."""
        with self._streams.shown():
            self.stdout = sys.stdout
            super().interaction(frame, traceback)

    def look(self, frames: TracebackType) -> None:
        """Let the user look at what raised an exception."""
        self.reset()
        self.interaction(None, frames)
        # Whoever has seen enough of an exception still wants to know what is made of it.
        self.quitting = False

    def get_stack(
        self, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        """The frames without those of the grader, which lie around the student's."""
        stack, at = super().get_stack(f, t)
        names = [one.f_globals.get("__name__", "") for one, _ in stack[:at]]
        around = max((number + 1 for number, name in enumerate(names) if _is_graders(name)), default=0)
        return stack[around:], at - around

    @property
    def left(self) -> bool:
        """The user has ended it."""
        return bool(self.quitting)

    def do_expected(self, arg: str) -> None:
        """expected

        Print the answer that this check expects.
        """
        from grader.report.terminal.console import Trimmed

        console().print(Trimmed(self._expected()))

    def do_run(self, arg: str) -> None:
        """run

        There is no way back: quit, and give the same command again.
        """
        print("quit with q and run the same command again")

    do_restart = do_run


class _Stepping:
    """The entry point, stopped at its first line in each call.

    Attributes:
        left: The user ended it before the last call did.
        hint: What to say of the debugger.
    """

    def __init__(
        self,
        entry: Callable[..., Any],
        own: Callable[[str], bool],
        pack: Pack,
        case: PackCase,
        hook: Callable[..., Any] | None,
        streams: _Streams,
    ) -> None:
        self._entry = entry
        self._own = own
        self._hook = hook
        self._streams = streams
        self._debugger = _Debugger(lambda: _expected(pack, case), streams)
        plan = pack.plans[case.visibility]
        self._calls = sum(not isinstance(plan[step], int) for step in case.steps)
        self._call = 0
        self._entered = False
        self._raised = False
        self.left = False
        self.hint = KEYS if hook is None else NOWHERE if os.environ.get("PYTHONBREAKPOINT") == "0" else OTHER

    def __call__(self, *arguments: Any) -> Any:
        if self.left or self._raised:
            raise bdb.BdbQuit
        self._call += 1
        if self._calls > 1:
            self._say(f"call {self._call} of {self._calls}")
        try:
            return self._run(arguments)
        except bdb.BdbQuit:
            self.left = True
            raise
        finally:
            self.left = self.left or self._debugger.left

    def _run(self, arguments: tuple[Any, ...]) -> Any:
        if self._hook is not None:
            self._hook()
            return self._entry(*arguments)
        self._entered = False
        sys.settrace(self._watch)
        try:
            return self._entry(*arguments)
        except (Exception, SystemExit) as error:
            sys.settrace(None)
            frames = self._frames(error)
            if self._debugger.left or isinstance(error, bdb.BdbQuit) or frames is None:
                raise
            said = "".join(traceback.format_exception_only(error)).rstrip()
            self._say(f"{said}\nThis is where it was raised.")
            self._raised = True
            self._debugger.look(frames)
            raise
        finally:
            sys.settrace(None)
            if not self._entered:
                self._say("None of your Python lines ran in this call, so there was nowhere to stop.")

    def _say(self, text: str) -> None:
        with self._streams.shown():
            print(text)

    def _watch(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "call" or not self._own(frame.f_code.co_filename):
            return None
        self._entered = True
        return self._debugger.begin(frame)

    def _frames(self, error: BaseException) -> TracebackType | None:
        """The exception's frames from the first of the student's on, without those of a debugger below it."""
        frames = error.__traceback__
        while frames is not None and not self._own(frames.tb_frame.f_code.co_filename):
            frames = frames.tb_next
        kept = []
        # Where a recursion is too deep, it may be the debugger that could not be called any more.
        while frames is not None and frames.tb_frame.f_globals.get("__name__") not in ("bdb", __name__):
            kept.append(frames)
            frames = frames.tb_next
        for one in reversed(kept):
            frames = TracebackType(
                frames if one is not kept[-1] else None, one.tb_frame, one.tb_lasti, one.tb_lineno
            )
        return frames if kept else None


# --- what comes out ---------------------------------------------------------------------------------


def _expected(pack: Pack, case: PackCase) -> RenderableType:
    from rich.text import Text

    from grader.judge.details import plain
    from grader.judge.topics import asks
    from grader.report.terminal.matrices import side_by_side

    if case.answer:
        return Text(case.answer)
    if case.check != "compare":
        return Text(asks(case))
    return side_by_side({"expected": plain(pack.expected(case))})


def _verdict(pack: Pack, case: PackCase, submission: Submission, outcomes: list[StepOutcome]) -> int:
    """Say whether the case holds, by the judge that grading has."""
    from rich.text import Text

    from grader.exercise.written import written
    from grader.judge.answers import Refusal, read_answer
    from grader.judge.cases import judge_case
    from grader.judge.details import plain
    from grader.positions import Positions
    from grader.report.terminal.console import Trimmed, words
    from grader.report.terminal.matrices import side_by_side
    from grader.report.texts import clean

    own = [outcomes[step] for step in case.steps]
    names = pack.parameters(case)
    changed = {names[number]: case.visibility for one in own for number in one.overwritten}
    judged = judge_case(pack, case, own, changed, Positions(submission.parts))
    terminal = console()
    if case.answer:
        terminal.print(Text(f"obtained: {written(own[0].value)}\nexpected: {case.answer}"))
    elif case.check == "compare":
        answer = read_answer(own[0], case.shapes[0], pack.call(case).dtypes) if own[0].value else None
        shown = {"expected": plain(pack.expected(case))}
        if answer is not None and not isinstance(answer, Refusal):
            shown = {"obtained": plain(answer), **shown}
        terminal.print(Trimmed(side_by_side(shown)))
    holds = judged.verdict == "passed"
    said = "holds" if holds else f"does not hold ({words(judged.verdict)})"
    terminal.print(Text(f"{case.id} {said}", style="green" if holds else "red"))
    if judged.message:
        terminal.print(Text(clean(judged.message, 600)))
    if not holds and case.hint and judged.verdict in ("wrong_value", "relation_violated"):
        terminal.print(Text(f"hint  {clean(case.hint, 600)}"))
    return OK if holds else LESS_THAN_FULL
