"""A lasting child that checks the policy of one source text after another; no student's code runs in it.

A parser bomb ends this process and not the judge's; the judge then starts another one.
"""

import json
import mmap

from grader.policy.analysis import analyze
from grader.policy.rules import Rules
from grader.sandbox.inside import failures
from grader.sandbox.inside.protocol import REPORTED, Judge

# The memory begins with the number of bytes that follow: first of the request, then of the report.
LENGTH = 8


def answer(memory: mmap.mmap, judge: Judge, rules: Rules) -> None:
    """Answer each request with its report until the judge hangs up."""
    size = len(memory)
    while judge.hear():
        length = int.from_bytes(memory[:LENGTH], "little")
        request = json.loads(memory[LENGTH : LENGTH + length])
        try:
            report = analyze(
                request["source"],
                rules,
                request["entry"],
                request["parts"],
                request["module"],
                driven=request["driven"],
            )
        except Exception as error:
            # A fault of the grader's own: no student may lose points by it.
            report = {"fault": failures.describe(error, request["filename"])}
        text = json.dumps(report).encode()
        if LENGTH + len(text) > size:
            text = b'{"overflow": true}'
        memory[LENGTH : LENGTH + len(text)] = text
        memory[:LENGTH] = len(text).to_bytes(LENGTH, "little")
        judge.say(REPORTED)
