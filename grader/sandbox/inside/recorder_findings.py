"""What recording found, and where in the student's file it was called from.

This part runs beside student code: what it holds is believed by nobody, see `grader.policy.runtime`.
"""

import sys
from types import CodeType, FrameType

from grader.policy.rules import Rule, Rules
from grader.policy.runtime import TAMPERED, Finding, finding, tampering

MOST_FINDINGS = 50
MOST_FRAMES = 2_000
# What autograd's engine runs on the way back is its own choice: the gradient of cumprod uses relu_.
ENGINE = frozenset(
    {"torch.autograd.graph._engine_run_backward", "torch.autograd.backward", "torch.autograd.grad"}
)

_getframe = sys._getframe


class Helper:
    """A banned helper: its rule, its canonical name and what was seen of it at run time."""

    __slots__ = ("name", "operator", "rule")

    def __init__(self, rule: Rule, name: str, operator: str) -> None:
        self.rule = rule
        self.name = name
        self.operator = operator


class Place:
    """Where a call came from.

    Attributes:
        line: The innermost line of the student's file, 0 when none is on the stack.
        helper: The outermost banned function of a library that the student's line called.
        allowed: An explicitly allowed function of the library is next on the way, before any banned one.
        backward: So is autograd's engine, which runs what it chooses, and hooks.
    """

    __slots__ = ("allowed", "backward", "helper", "line")

    def __init__(self) -> None:
        self.line = 0
        self.helper: Helper | None = None
        self.allowed = False
        self.backward = False


class Findings:
    """The helpers that ran while recording was on, and signs that somebody turned it off."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.active = False
        self.filename = ""
        self.base: FrameType | None = None
        self.failed = ""
        # Library code objects that have been met. They are kept, so that an id stays one object's own.
        self._codes: dict[int, tuple[CodeType, Helper | bool | None]] = {}
        self._found: dict[tuple[str, int], Finding] = {}
        self._tampered: dict[str, Finding] = {}

    def add(self, helper: Helper, line: int) -> None:
        """Note that a helper ran."""
        key = helper.name, line
        if key not in self._found and len(self._found) < MOST_FINDINGS:
            self._found[key] = finding(helper.rule, helper.name, helper.operator, line)

    def tamper(self, what: str, line: int = 0) -> None:
        """Note that recording was interfered with; ``what`` is one of `grader.policy.runtime.TAMPERED`."""
        if what not in self._tampered:
            self._tampered[what] = tampering(what, line)

    def fail(self, where: str, error: BaseException) -> None:
        """Note that recording itself failed; the first failure is kept."""
        self.failed = self.failed or f"{where}: {type(error).__name__}"

    def found(self) -> list[Finding]:
        """Everything noted so far, by line."""
        return sorted(self._found.values(), key=lambda item: (item["line"], item["helper"]))

    def tampered(self) -> list[Finding]:
        """The signs of interference."""
        return [self._tampered[what] for what in TAMPERED if what in self._tampered]

    def forget(self) -> None:
        """Drop what was noted."""
        self._found.clear()
        self._tampered.clear()
        self.failed = ""

    def place(self, frame: FrameType | None, library: str, called: str | None = None) -> Place:
        """The student's line from which ``frame`` was reached, and what of ``library`` is in between.

        Args:
            called: The function that is called there by its name, where that is known. A function that is
                allowed excuses it only where the library's own code names it: autograd's engine and
                torch.nn.utils also run what a submission hands them.
        """
        place = Place()
        named = called is None
        filename, base, codes = self.filename, self.base, self._codes
        for _ in range(MOST_FRAMES):
            if frame is None or frame is base:
                break
            code = frame.f_code
            if code.co_filename == filename:
                place.line = frame.f_lineno
                break
            known = codes.get(id(code))
            met = known[1] if known is not None else self._meet(code, frame, library)
            named = named or called in code.co_names
            if met is True:
                place.allowed = named and place.helper is None
            elif met is False:
                place.backward = place.helper is None
            elif met and not place.allowed:
                place.helper = met
            frame = frame.f_back
        return place

    def _meet(self, code: CodeType, frame: FrameType, library: str) -> Helper | bool | None:
        """What a code object is: a helper, allowed (True), autograd's engine (False), or none of them."""
        met: Helper | bool | None = None
        module = frame.f_globals.get("__name__")
        if type(module) is str and module.partition(".")[0] == library:
            met = self._judge(module, code.co_qualname)
        if len(self._codes) < 20_000:
            self._codes[id(code)] = code, met
        return met

    def _judge(self, module: str, qualified: str) -> Helper | bool | None:
        name = f"{module}.{qualified}"
        names = [name]
        owner, _, member = qualified.partition(".")
        if member:
            # A class is used by its methods: torch.nn.modules.activation.GLU.forward is torch.nn.GLU.
            public = public_name(f"{module}.{owner}")
            names = [public, f"{module}.{owner}", f"{public}.{member}", name]
        if name in ENGINE:
            return False
        if any(self.rules.allows(each) for each in names):
            return True
        for each in names:
            rule = self.rules.banned(each)
            if rule is not None:
                return Helper(rule, self.rules.canonical(each), "")
        return None


def public_name(name: str) -> str:
    """The short name under which a package shows a class of one of its modules, where it does."""
    parts = name.split(".")
    last = parts[-1]
    home = sys.modules.get(".".join(parts[:-1]))
    for cut in range(1, len(parts) - 1):
        package = sys.modules.get(".".join(parts[:cut]))
        own = getattr(home, "__dict__", {}).get(last)
        if own is not None and getattr(package, "__dict__", {}).get(last) is own:
            return ".".join([*parts[:cut], last])
    return name
