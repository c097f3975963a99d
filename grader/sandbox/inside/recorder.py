"""Finding banned helpers while a submission runs, in the calls that the judge picks.

The static check reads the source; what it can't follow (text that is run, names made letter by letter,
pickled references) ends in the same library functions, and these are watched here. A ``Recorder`` is made
once in the fork server, when the libraries are loaded, so that no child pays for it.
"""

import sys
import types

from grader.policy.rules import Rules
from grader.policy.runtime import Finding, tampering
from grader.sandbox.inside.recorder_findings import Findings
from grader.sandbox.inside.recorder_torch import TorchRecorder
from grader.sandbox.inside.recorder_wrappers import Wrappers


class Recorder:
    """Notes the banned helpers that run inside ``with recorder.during(filename):``.

    Args:
        rules: The exercise's rules, the same as for the static check.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._findings = Findings(rules)
        self._torch: TorchRecorder | None = None
        self._wrappers = Wrappers(rules, self._findings)
        self._look_for_torch()

    def _look_for_torch(self) -> None:
        """Torch may be loaded by the submission itself, later than the recorder is made."""
        torch = sys.modules.get("torch")
        if self._torch is None and torch is not None and self._bans_torch():
            try:
                self._torch = TorchRecorder(torch, self.rules, self._findings)
            except Exception as error:
                self._findings.fail("torch", error)

    def _bans_torch(self) -> bool:
        return "torch" in self.rules.roots or any(not root.isidentifier() for root in self.rules.roots)

    def during(self, filename: str) -> "Recording":
        """A context manager around one call of the entry point in the file of that name."""
        return Recording(self, filename)

    def findings(self) -> list[Finding]:
        """The helpers that ran, each once a line, by line."""
        return self._findings.found()

    def tampered(self) -> list[Finding]:
        """The signs that a recorded call interfered with the recording."""
        signs = self._findings.tampered()
        return [*signs, tampering("failed")] if self.failed else signs

    def clear(self) -> None:
        """Forget what was found so far."""
        self._findings.forget()

    @property
    def failed(self) -> str:
        """Where recording itself failed, "" when it did not; the student's call went on regardless."""
        return self._findings.failed


class Recording:
    """One recorded call. Entering and leaving never raise."""

    __slots__ = ("_filename", "_recorder", "_torch")

    def __init__(self, recorder: Recorder, filename: str) -> None:
        self._recorder = recorder
        self._filename = filename
        self._torch: TorchRecorder | None = None

    def __enter__(self) -> None:
        recorder = self._recorder
        findings = recorder._findings
        findings.filename = self._filename
        findings.base = sys._getframe(1)
        try:
            recorder._look_for_torch()
            if recorder._torch is not None:
                recorder._torch.start()
                self._torch = recorder._torch
        except Exception as error:
            findings.fail("start", error)
        findings.active = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        recorder = self._recorder
        findings = recorder._findings
        if not findings.active:
            findings.tamper("recorder")
        findings.active = False
        findings.base = None
        try:
            if self._torch is not None:
                self._torch.stop()
        except Exception as fault:
            findings.fail("stop", fault)
        try:
            if not recorder._wrappers.in_place():
                findings.tamper("wrapper")
        except Exception as fault:
            findings.fail("stop", fault)
