"""What only Jupyter understands in a cell, made plain Python line by line.

Nothing is parsed with Python's own parser: cells are strangers' text. A small scanner knows strings,
comments, brackets and continued lines, so that ``% b`` within brackets or ``!`` within a string stays as it
is. What valid Python can't hold is replaced on its own line; so valid Python comes out unchanged, and lines
keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

# Magics whose arguments are Python: (options with a value, options without, long options).
_OPTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "time": ("", "", ("--no-raise-error",)),
    "timeit": ("nrp", "tcqov", ()),
    "prun": ("DlsT", "rq", ()),
    "memit": ("rti", "co", ()),
    "mprun": ("fT", "rc", ()),
    "lprun": ("fmDTu", "rsz", ()),
}
# Magics of a whole cell whose body is Python.
_BODIES = frozenset({*_OPTIONS, "capture", "snakeviz", "pyinstrument", "wandb"})
# Of a line, these give what their Python gives.
_VALUES = frozenset({"time"})

_INDENT = re.compile(r"[ \t\f]*")
_CODE = re.compile(r"[\n#\\\"'()\[\]{}=:]")
_LITERAL = re.compile(r"[\n\\\"'{}]")
_STRING_ENDS = {
    "'": re.compile(r"[\\'\n]"),
    '"': re.compile(r'[\\"\n]'),
    "'''": re.compile(r"\\|'''"),
    '"""': re.compile(r'\\|"""'),
}
_ASSIGNED = re.compile(r"[ \t]*(?=!(?!=)|%[^\W\d])")
_LINE_MAGIC = re.compile(r"%[ \t]*([\w.]+)[ \t]*")
_CELL_MAGIC = re.compile(r"%%(\w+|!)(?!\w*\?)[ \t]*(.*)")
_CLASSIC_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
_NUMBERED_PROMPT = re.compile(r"^(?:In \[\d+\]: |[ \t]*\.{3,}: ?)", re.MULTILINE)
# A cell of one line such as this is a command without its sign.
_INSTALLING = re.compile(
    r"[ \t]*(?:pip3?|conda|mamba|uv)[ \t]+"
    r"(?:install|uninstall|list|show|freeze|update|upgrade|add|pip)\b[^\n]*"
)
_TEXT = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_EXPORTED = re.compile(
    r"get_ipython\(\)\.(?:run_line_magic|run_cell_magic|magic|system|getoutput)"
    rf"\([ \t]*{_TEXT}(?:[ \t]*,[ \t]*{_TEXT})*[ \t]*\)[ \t]*(?:#[^\n]*)?\n?"
)
# What a hostile text may repeat without end, and no person does.
_NESTED, _OPTIONS_READ = 5, 20
_PREFIXES = "rRbBuUfFtT"


@dataclass(frozen=True)
class Skipped:
    """A line that is not run: its number within the cell, from 1, and what stood there."""

    line: int
    text: str


@dataclass(frozen=True)
class Plain:
    """A cell as plain Python.

    Attributes:
        text: As many lines as the cell has.
        foreign: The line that makes the cell something other than Python (``%%bash``); all its lines are
            comments then. Empty for most.
        skipped: Jupyter's own lines, which are not run.
    """

    text: str
    foreign: str = ""
    skipped: tuple[Skipped, ...] = ()


def plain(cell: str) -> Plain:
    """A cell without what only Jupyter understands.

    What carries Python is kept as Python (``%time f(x)``, a cell under ``%%time``); other such lines become
    ``pass`` and a comment; a cell in another language becomes comments. A cell that is no valid Python beside
    that stays so.

    Args:
        cell: Its text; lines end with ``\\n``.
    """
    if _INSTALLING.fullmatch(cell.strip("\n")):
        return _escape_all(cell)
    head: list[str] = []
    body, before = _unindented(_unprompted(cell)), 0
    for depth in range(_NESTED + 1):
        lead = _blank_lines(body)
        head.append(body[:lead])
        before += body.count("\n", 0, lead)
        body = body[lead:]
        found = _CELL_MAGIC.match(body)
        if found is None or depth == _NESTED:
            break
        name, rest = found[1], found[2]
        first, newline, body = body.partition("\n")
        if name not in _BODIES:
            text = "".join(head) + comments(first + newline + body)
            return Plain(text, first.strip())
        kept = _statement(name, rest) if name in _OPTIONS else ""
        head.append((kept or f"# {first}") + newline)
        before += 1
        body = _unindented(body)
    text, skipped = _lines(body, before)
    return Plain("".join(head) + text, "", tuple(skipped))


def comments(text: str) -> str:
    """Every line of a text made a comment; blank lines stay."""
    return "\n".join(f"# {line}" if line.strip() else line for line in text.split("\n"))


def without_calls_of_jupyter(text: str) -> tuple[str, tuple[Skipped, ...]]:
    """A script that was exported from a notebook without its calls such as ``get_ipython().system('ls')``."""
    if "get_ipython()." not in text:
        return text, ()
    pieces: list[str] = []
    skipped: list[Skipped] = []
    at, line = 0, 1
    while at < len(text):
        begin = _matched(_INDENT, text, at)
        end = _logical(text, begin).end
        whole = text[begin:end]
        if whole.startswith("get_ipython()") and _EXPORTED.fullmatch(whole):
            skipped.append(Skipped(line, whole.strip()))
            whole = f"pass  # {whole}"
        pieces.append(text[at:begin] + whole)
        line += text.count("\n", at, end)
        at = end
    return "".join(pieces), tuple(skipped)


def _escape_all(cell: str) -> Plain:
    lines = cell.split("\n")
    skipped = tuple([Skipped(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip()])
    return Plain("\n".join(f"pass  # {line}" if line.strip() else line for line in lines), "", skipped)


def _unprompted(cell: str) -> str:
    """A cell into which a session was pasted, prompts and all, as Jupyter takes it."""
    lead = _blank_lines(cell)
    if re.compile(r">>>(?: |$)", re.MULTILINE).match(cell, lead):
        return _CLASSIC_PROMPT.sub("", cell)
    if re.compile(r"In \[\d+\]: ").match(cell, lead):
        return _NUMBERED_PROMPT.sub("", cell)
    return cell


def _unindented(cell: str) -> str:
    """A cell whose first statement is indented without what all its lines are indented by, as in Jupyter."""
    lines = cell.split("\n")
    for line in lines:
        bare = line.lstrip(" \t\f")
        if not bare or bare.startswith("#"):
            continue
        if not line[: len(line) - len(bare)].rpartition("\f")[2]:
            return cell
        break
    else:
        return cell
    used = [line for line in lines if line.strip()]
    least, most = min(used), max(used)
    width = 0
    while width < len(least) and least[width] == most[width] and least[width] in " \t":
        width += 1
    margin = least[:width]
    return "\n".join(line[width:] if line.startswith(margin) else line for line in lines) if width else cell


def _blank_lines(text: str) -> int:
    """Where the first line begins that is not blank; 0 when all are."""
    lead = len(text) - len(text.lstrip())
    return text.rfind("\n", 0, lead) + 1 if lead < len(text) else 0


def _lines(text: str, before: int) -> tuple[str, list[Skipped]]:
    """The lines of a cell, ``before`` of which come ahead of the text."""
    pieces: list[str] = []
    skipped: list[Skipped] = []
    at, line = 0, before + 1
    while at < len(text):
        begin = _matched(_INDENT, text, at)
        if text.startswith("\n", begin):
            pieces.append(text[at : begin + 1])
            at = begin + 1
            line += 1
            continue
        if text[begin : begin + 1] in tuple("!%?,;/"):
            end = _continued(text, begin)
            original = text[begin:end]
            kept = _python(original)
            if not kept:
                skipped.append(Skipped(line, original))
            pieces.append(text[at:begin] + (kept or _passed(original)))
        else:
            logical = _logical(text, begin)
            end = logical.end
            if logical.escape >= 0:
                start = logical.escape
                end = _continued(text, start)
                original = text[start:end]
                name = _LINE_MAGIC.match(original)
                kept = _python(original) if name is not None and name[1] in _VALUES else ""
                if not kept:
                    skipped.append(Skipped(line + text.count("\n", at, start), text[at:end].strip()))
                    value = "None" if original.startswith("%") else "[]"
                    kept = f"{value}  # {_rest_commented(original)}"
                pieces.append(text[at:start] + kept)
            elif logical.help:
                original = text[begin:end].rstrip("\n")
                skipped.append(Skipped(line, original))
                pieces.append(text[at:begin] + f"pass  # {text[begin:end]}")
            else:
                pieces.append(text[at:end])
        if end < len(text) and text[end - 1 : end] != "\n":
            # A line of Jupyter's ends before its line feed.
            pieces.append("\n")
            end += 1
        line += text.count("\n", at, end)
        at = end
    return "".join(pieces), skipped


def _continued(text: str, at: int) -> int:
    """Where the line that begins at ``at`` ends, with those that backslashes continue; before its ``\\n``."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if text[end - 1] != "\\" or end + 1 >= len(text):
            return end
        at = end + 1


def _passed(original: str) -> str:
    return f"pass  # {_rest_commented(original)}"


def _rest_commented(original: str) -> str:
    return original.replace("\n", "\n# ")


def _python(original: str, depth: int = 0) -> str:
    """The Python that a line magic carries, or nothing."""
    found = _LINE_MAGIC.match(original)
    if found is None or found[1] not in _OPTIONS or depth == _NESTED:
        return ""
    return _statement(found[1], original[found.end() :], depth)


def _statement(name: str, rest: str, depth: int = 0) -> str:
    """The statement in a magic's arguments; nothing when there is none that ends there."""
    valued, plain_ones, long_ones = _OPTIONS[name]
    for _ in range(_OPTIONS_READ):
        if not rest.startswith("-"):
            break
        word = rest.split(None, 1)[0]
        after = rest[len(word) :].lstrip(" \t")
        letter = word[1:2]
        if word == "--":
            rest = after
            break
        if word in long_ones or (letter and all(c in plain_ones for c in word[1:])):
            rest = after
        elif letter and letter in valued:
            rest = after if len(word) > 2 else after[len((after.split(None, 1) or [""])[0]) :].lstrip(" \t")
        else:
            return ""
    if rest.startswith("%"):
        return _python(rest, depth + 1)
    rest = rest.rstrip(" \t")
    if not rest or rest[0] in "!?,;/#-\n" or rest.endswith(":"):
        return ""
    logical = _logical(rest, 0)
    whole = logical.end == len(rest) and not (logical.open or logical.help or logical.escape >= 0)
    return rest if whole and not rest.endswith("\\") else ""


# --- the scanner ----------------------------------------------------------------------------------


class _Logical(NamedTuple):
    """A line as Python counts statements: up to a line feed outside brackets and strings.

    Attributes:
        end: Where it ends, its ``\\n`` included.
        open: The text ends within it, or a string in it does not end.
        help: It is one line that ends with ``?``.
        escape: Where ``!ls`` or ``%magic`` stands that is assigned in it; -1 when nothing of the kind is.
    """

    end: int
    open: bool = False
    help: bool = False
    escape: int = -1


class _Frame(NamedTuple):
    """What the scanner is within: a ``(`` bracket, or an f-string's ``text``, a ``field`` or its ``form``."""

    kind: str
    quote: str = ""


_BRACKET = _Frame("(")


def _logical(text: str, begin: int) -> _Logical:
    """The logical line that begins there. It reads no character twice, whatever the text."""
    frames: list[_Frame] = []
    assigned = several = broken = False
    comment = -1
    at = begin
    while True:
        top = frames[-1] if frames else None
        if top is not None and top.kind in ("text", "form"):
            found = _LITERAL.search(text, at)
            if found is None:
                return _Logical(len(text), open=True)
            at = found.end()
            if found[0] == "\n":
                if len(top.quote) == 1:
                    at -= 1
                    _leave_string(frames)
                    broken = True
                else:
                    several = True
            else:
                at = _in_f_string(text, at, found[0], frames, top)
            continue
        found = _CODE.search(text, at)
        if found is None:
            helped = not (several or broken or frames) and _asks(text, begin, len(text), comment)
            return _Logical(len(text), open=bool(frames) or broken, help=helped)
        sign, here, at = found[0], found.start(), found.end()
        if sign == "\n":
            if not frames:
                helped = not (several or broken) and _asks(text, begin, here, comment)
                return _Logical(at, open=broken, help=helped)
            several = True
        elif sign == "#":
            comment = here
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif sign == "\\":
            if text.startswith("\n", at):
                at += 1
                several = True
        elif sign in "\"'":
            quote = sign * 3 if text.startswith(sign * 3, here) else sign
            prefix = _prefix(text, begin, here)
            at = here + len(quote)
            if "f" in prefix or "t" in prefix:
                frames.append(_Frame("text", quote))
            else:
                at, ended = _string_end(text, at, quote)
                broken = broken or not ended
                several = several or "\n" in text[here:at]
        elif sign in "([{":
            frames.append(_BRACKET)
        elif sign in ")]}":
            if frames:
                frames.pop()
        elif sign == ":":
            if top is not None and top.kind == "field":
                frames.append(_Frame("form", top.quote))
        elif not frames and not assigned and _assigns(text, here):
            assigned = True
            escape = _ASSIGNED.match(text, at)
            if escape is not None:
                return _Logical(at, escape=escape.end())


def _in_f_string(text: str, at: int, sign: str, frames: list[_Frame], top: _Frame) -> int:
    """Go on after a sign within the text of an f-string; where to."""
    if sign == "\\":
        # A backslash does not keep a brace from opening a field; \N{DASH} may as well be taken for one.
        return at if text.startswith(("{", "}", "N{"), at) else at + 1
    if sign == "{":
        if top.kind == "text" and text.startswith("{", at):
            return at + 1
        frames.append(_Frame("field", top.quote))
    elif sign == "}":
        if top.kind == "form":
            del frames[-2:]
        elif text.startswith("}", at):
            return at + 1
    elif text.startswith(top.quote, at - 1):
        _leave_string(frames)
        return at - 1 + len(top.quote)
    return at


def _leave_string(frames: list[_Frame]) -> None:
    """End the innermost f-string, also from within the form of a field."""
    while frames.pop().kind != "text":
        pass


def _string_end(text: str, at: int, quote: str) -> tuple[int, bool]:
    """Where a plain string ends, and whether it does end; one on a single line ends with the line at last."""
    pattern = _STRING_ENDS[quote]
    while True:
        found = pattern.search(text, at)
        if found is None:
            return len(text), False
        if found[0] == "\\":
            at = found.end() + 1
        elif found[0] == "\n":
            return found.start(), False
        else:
            return found.end(), True


def _prefix(text: str, begin: int, quote: int) -> str:
    """The letters before a quote that belong to the string, in lower case."""
    at = quote
    while at > begin and quote - at < 3 and text[at - 1] in _PREFIXES:
        at -= 1
    if at > begin and (text[at - 1].isalnum() or text[at - 1] == "_"):
        return ""
    return text[at:quote].lower()


def _assigns(text: str, here: int) -> bool:
    """``=`` there is an assignment, or the first of ``==``, which no line of Jupyter's follows."""
    return text[here - 1 : here] not in tuple("=!<>+-*/%&|^@:~")


def _asks(text: str, begin: int, end: int, comment: int) -> bool:
    """The code of a line ends with ``?``."""
    code = text[begin : comment if comment >= 0 else end].rstrip(" \t\f")
    return code.endswith("?")


def _matched(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
