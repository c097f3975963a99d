"""The command line: parse, call, and end every fault in a message and a status."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable

from grader import documents, signs, warm
from grader.arguments import COMMANDS, build_parser
from grader.commands import shared
from grader.errors import ExerciseError, GraderError, OwnFaultError, Problem
from grader.exercise.near import did_you_mean


def main() -> None:
    """Run the command line; every expected fault ends in a message and a status, never in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Unicode shows plainer signs, not a fault.
            stream.reconfigure(errors=signs.register())
    try:
        if (
            len(sys.argv) > 2
            and sys.argv[1] == "check"
            and not {"--help", "--snippet", "--debug"} & set(sys.argv)
        ):
            # The fork server imports numpy while this process imports the rest.
            warm.start()
        status = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(status)
    except GraderError as error:
        _say_fault(error)
        _print_fault_json(str(error), list(error.problems) if isinstance(error, ExerciseError) else [])
        sys.exit(shared.USER_FAULT)
    except OwnFaultError as error:
        print(f"grader: a fault of the grader itself: {error}", file=sys.stderr)
        _print_fault_json(str(error), [])
        sys.exit(shared.GRADER_FAULT)
    except KeyboardInterrupt:
        # It ends by itself now; who is impatient does not interrupt that.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("grader: interrupted", file=sys.stderr)
        sys.exit(shared.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(shared.OK)
    except Exception as error:
        if os.environ.get("GRADER_DEBUG"):
            raise
        said = f"{type(error).__name__}: {error}"
        print(f"grader: a fault of the grader itself: {said} (GRADER_DEBUG=1 shows where)", file=sys.stderr)
        _print_fault_json(said, [])
        sys.exit(shared.GRADER_FAULT)
    finally:
        warm.stop()


def _run(arguments: list[str]) -> int:
    parser = build_parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return shared.USER_FAULT
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise GraderError(
            f"no command {arguments[0]!r}{did_you_mean(arguments[0], COMMANDS)}\nsee grader --help"
        )
    chosen = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    return run(chosen)


def _say_fault(error: GraderError) -> None:
    for line in str(error).splitlines():
        print(f"grader: {line}", file=sys.stderr)


def _print_fault_json(message: str, problems: list[Problem]) -> None:
    """The document of a command that could not do its work, where one was asked for and none was written."""
    if "--json" not in sys.argv or shared.json_written:
        return
    command = sys.argv[1]
    if command == "check":
        shared.print_json([])
    elif command == "grade":
        shared.print_json(
            {"schema": documents.BATCH, "submissions": 0, "graded": 0, "counts": {}, "error": message}
        )
    elif command == "intake":
        nothing: dict[str, list[object]] = {
            key: [] for key in ("layouts", "submissions", "missing", "notes", "left_out", "problems")
        }
        shared.print_json({"schema": documents.INTAKE, **nothing, "error": message})
    elif command == "explain":
        shared.print_json({"schema": documents.EXPLANATION, "topics": [], "error": message})
    elif command == "demo":
        shared.print_json({"schema": documents.DEMONSTRATION, "examples": [], "error": message})
    elif command == "validate":
        rows = [{"code": "exercise_fault", **vars(p)} for p in problems]
        if not rows:
            rows = [{"code": "exercise_fault", "message": message, "file": "", "line": 0}]
        shared.print_json(
            {"schema": documents.VALIDATION, "sound": False, "weaknesses": rows, "error": message}
        )
