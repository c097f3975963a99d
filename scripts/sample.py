"""Makes the sample report: ``python scripts/sample.py`` writes reports/sample and the README's example.

Timings and the pack's digest are left out, since they differ from machine to machine.
"""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
SUBMISSION = ROOT / "submissions" / "mlm_forward" / "wrong_causal_mask.py"
BEGIN, END = "<!-- sample: made by scripts/sample.py -->", "<!-- end of sample -->"


def make_sample() -> tuple[str, str]:
    """The terminal report and the student page of one worked submission."""
    from grader.batch.asking import asked_of
    from grader.batch.runner import Runner
    from grader.exercise.resolve import resolve_pack
    from grader.intake.collect import collect
    from grader.report.html import student_page
    from grader.report.terminal.submission import check_report
    from grader.result import Timing

    pack = resolve_pack("mlm_forward", ROOT)
    submission = collect([SUBMISSION], asked_of(pack)).submissions[0]
    with Runner(pack) as runner:
        result = runner.grade(submission)
    result = replace(
        result,
        submission=replace(result.submission, path=SUBMISSION.name),
        timing=Timing(),
        exercise={**result.exercise, "pack": "sha256:" + "0" * 64},
    )
    console = Console(file=io.StringIO(), width=96, color_system=None, highlight=False)
    console.print(check_report(result, source=submission.source or ""))
    text = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"  # type: ignore[attr-defined]
    return text, student_page(result)


def with_sample(readme: str, text: str) -> str:
    """The README with the example between its two marks replaced."""
    block = f"{BEGIN}\n\n```text\n$ grader check {SUBMISSION.name}\n{text}```\n\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, readme, flags=re.DOTALL)


def main() -> None:
    """Write the sample."""
    folder = ROOT / "reports" / "sample"
    folder.mkdir(parents=True, exist_ok=True)
    text, page = make_sample()
    (folder / "check.txt").write_text(text, "utf-8")
    (folder / "student.html").write_text(page, "utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_sample(readme.read_text("utf-8"), text), "utf-8")
    print(f"{folder} and the example in {readme.name} are written", file=sys.stderr)


if __name__ == "__main__":
    main()
