"""What a verdict that is not about values means, and when it comes, in the form of a known mistake's page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from grader.exercise.calls import PlacedArray, placed_arrays
from grader.exercise.pack import Pack, PackCase
from grader.exercise.pages import Page
from grader.result import CaseResult

TITLES: Mapping[str, str] = {
    "raised": "A call ends in an exception",
    "crashed": "The process ends in the middle of a call",
    "timed_out": "A call takes too long",
    "out_of_memory": "Memory runs out",
    "wrong_type": "The answer is of another type",
    "wrong_shape": "The answer has another shape",
    "input_mutated": "An argument is changed",
    "output_aliases_input": "The answer shares memory with an argument",
    "not_repeatable": "The same call gives another answer",
    "not_loadable": "The file can't be loaded",
}

PAGES: Mapping[str, Page] = {
    "raised": Page(
        "Your function raises an exception instead of returning an answer.",
        "Every allowed input has an answer. Often the code expects something of its arguments that need not "
        "be so: at least one element, more than one row, a certain dtype.",
        "",
        "Paste the snippet of such a check and run it: the last line of the traceback that lies in your file "
        "is where to look. Print the shapes and dtypes there.",
    ),
    "crashed": Page(
        "The process that runs your function dies; no exception is raised that could be caught.",
        "Deep recursion, memory that is written through a wrong address (ctypes, a view with wrong strides) "
        "and os.abort do this.",
        "",
        "Use loops instead of deep recursion, and numpy's own functions to make views.",
    ),
    "timed_out": Page(
        "A call uses more processor time than is allowed, or waits without end.",
        "The limit leaves room for plain loops: a loop does not end, something is done far more often than "
        "it has to be, or something is waited for (input(), a lock, a sleep).",
        "while delta > 0: ...",
        "Find the loop whose condition never becomes false, and take out whatever waits.",
    ),
    "out_of_memory": Page(
        "Your function asks for more memory than is allowed.",
        "The right answer needs far less: an array grows with a power of the inputs' size or holds much that "
        "is not asked for, or something is kept from call to call and grows.",
        "",
        "Print the shapes of the arrays you make; look for an outer product or a repeated concatenate.",
    ),
    "wrong_type": Page(
        "What comes back is not an array of floats.",
        "The answer is compared element by element with an array. A list, a tuple, None or an array of other "
        "things has no such elements.",
        "return rows            # a list",
        "return np.array(rows)",
    ),
    "wrong_shape": Page(
        "The answer is an array, but its axes are not those that are asked for.",
        "Shapes are compared exactly: (3,) is not (3, 1), and an answer without rows still has its columns.",
        "",
        "Print answer.shape before you return it and compare it with the statement, also for one row and for "
        "none.",
    ),
    "input_mutated": Page(
        "An array that was passed in has other contents after the call.",
        "The caller goes on using its arrays. Operators such as += and assignments to a slice write into the "
        "array itself; so does every change of a view of it, and torch.from_numpy gives such a view.",
        "x += y",
        "x = x + y              # a new array; or x = x.copy() first",
    ),
    "output_aliases_input": Page(
        "The array that you return lies in the memory of an argument.",
        "Who changes the answer later changes the argument too. Slices, reshapes and transposes are views.",
        "return w[a:b]",
        "return w[a:b].copy()",
    ),
    "not_repeatable": Page(
        "The answer depends on something other than the arguments.",
        "A random number (dropout), a cache whose key leaves something out, a global or a mutable default "
        "argument keeps something from call to call; or all answers are written into one array.",
        "def f(x, rows=[]): ...",
        "Make everything anew in each call, and return a new array.",
    ),
    "not_loadable": Page(
        "Your file raises an exception, or does not define the function, when it is loaded.",
        "Nothing can be checked before the file loads. What is needed to load it has to be handed in: data "
        "files are not there, and of other modules only the Python files that were handed in beside it.",
        "",
        "Start a new Python in an empty folder with only what you hand in, and import your file; restart a "
        "notebook's kernel and run all cells.",
    ),
}

# Pages of files that can't be loaded for a reason of which more is known.
LOADING: Mapping[str, Page] = {
    "not_python": Page(
        "The text is not valid Python, so none of it runs.",
        "Python reads a whole file before it runs the first line of it.",
        "",
        "Look at the line that is named and at the one before it: often a bracket, a quotation mark, a colon "
        "or an indentation is missing there.",
    ),
    "not_defined": Page(
        "The file loads, but the function that the checks call is not in it.",
        "The checks call it by its name, and nothing else in the file is looked at.",
        "",
        "Define the function under exactly that name, outside every other function and class.",
    ),
}

_ORDER = "Python looks a name up when it gets to that line, so a file with a wrong one loads all the same."

# Pages of what is told of by what a case asks for: an exception, or an answer that is no array.
ASKED: Mapping[str, Page] = {
    "not_mentioned": Page(
        "The right exception is raised, but its message does not have what the statement asks for.",
        "The message is all that a reader of a log gets to see: which value was wrong, and what is allowed.",
        'raise ValueError("out of range")',
        "Put the values into the message, with an f-string for instance: "
        'raise ValueError(f"rate is {rate}, expected less than 1").',
    ),
    "not_raised": Page(
        "A call with an argument that is not allowed returns as if nothing were wrong.",
        "The statement names the exception for it. Whoever calls your function learns of the mistake only by "
        "it; an answer made from such an argument looks like any other one.",
        "return answer",
        "Look at the argument before anything is computed, and raise the exception that the statement names, "
        "with the value in its message.",
    ),
    "other_exception": Page(
        "The call ends in an exception, but in another one than the statement names, or its message lacks "
        "something.",
        "Who calls your function catches the exception by its class. One that comes from the middle of the "
        "computation (an index, a shape) says nothing of the argument that was wrong.",
        "",
        "Look at the argument before anything is computed, and raise the named exception yourself.",
    ),
    "wrong_form": Page(
        "What comes back, or a part of it, is of another type than the statement says.",
        "Every part of the answer has its type: an array, a number, a list, a dictionary with given keys.",
        "",
        "Print the answer and its parts with their types, and hold them against the statement.",
    ),
    "wrong_sizes": Page(
        "A part of the answer has another size than the statement says.",
        "Sizes are compared before values, and nothing is stretched to fit.",
        "",
        "Print the shapes and lengths of the parts; an axis of length 1 must not be dropped.",
    ),
}
CAUSES: Mapping[str, str] = {
    "not_mentioned": "The message of the exception lacks something",
    "not_raised": "An exception is missing",
    "other_exception": "Another exception is raised",
    "wrong_sizes": "A part of the answer has another size",
}
FORMS: Mapping[str, str] = {"wrong_type": "wrong_form", "wrong_shape": "wrong_sizes"}

# Pages of exceptions whose message leaves nothing to look for; the causes are those of `call_cause`.
RAISING: Mapping[str, Page] = {
    "not_written": Page(
        "The call ends at a raise NotImplementedError, which stands for code that is still to be written.",
        "A starter has it so that the file loads before it does anything.",
        "",
        "Put your code in its place, and return the answer.",
    ),
    "endless_recursion": Page(
        "A function calls itself, or others that call it, until Python stops it.",
        "Nothing in the calls on the way down makes one of them the last.",
        "",
        "Look at the line that is said: give the function a case in which it returns without a further call, "
        "and make each call come nearer to it. Often another function was meant, or a loop.",
    ),
    "other_arguments": Page(
        "The function can't take the arguments that it is called with.",
        "Every check calls it in the same way: by position, all arguments in the order of the statement.",
        "",
        "Give the function those parameters, in that order; others need a default value.",
    ),
    "unknown_name": Page(
        "A name is used that has no value there.",
        f"{_ORDER} A name that is given a value in only one branch has none after the other.",
        "",
        "Look at the spelling of the name in the line that is said; define or import it in the file that you "
        "hand in, as nothing of a console or another notebook is there.",
    ),
    "unknown_attribute": Page(
        "Something is asked for an attribute or a method that it does not have.",
        f"{_ORDER} The arguments are numpy arrays, and arrays of numpy and of torch have other methods.",
        "",
        "Look at the spelling in the line that is said, and print the type of what stands before the dot.",
    ),
    "failed_import": Page(
        "Something is imported that can't be had here.",
        "Only the packages that the exercise allows are there, and the Python files that you hand in.",
        "",
        "Take the import out, and write what it was for with the packages that are allowed; hand a module of "
        "your own in beside the file.",
    ),
    "waits_for_input": Page(
        "The call asks for something to be typed.",
        "Nobody sits at a keyboard when your function is called. All that it needs are its arguments.",
        "",
        'Take input() out, or put it under if __name__ == "__main__":.',
    ),
    "ends_program": Page(
        "The call ends the whole program instead of returning.",
        "Whoever calls a function waits for its answer, and exit() gives none.",
        "",
        "Return the answer. What is to run when the file is started as a program goes under "
        'if __name__ == "__main__":.',
    ),
}


def explain(
    pack: Pack,
    cases: Sequence[CaseResult],
    told: Collection[str],
    left: Collection[str],
    causes: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """An entry for each verdict that is not about values.

    Args:
        pack: The pack.
        cases: What was decided.
        told: Verdicts that a known mistake explains.
        left: Ids of cases that it leaves open all the same.
        causes: By the id of a case that raised, which page of `RAISING` it has, if one.
    """
    found = []
    for verdict in TITLES:
        failed = [c for c in cases if c.verdict == verdict and (verdict not in told or c.id in left)]
        if failed:
            # The page of what the message says; an exact one is about no clause.
            shown = next((c.id for c in failed if c.visibility == "public"), "")
            cause = causes.get(shown, "") if verdict in ("raised", "wrong_type") else ""
            clause = "" if cause in RAISING else failed[0].clause
            if not cause and verdict in FORMS and not _is_array(pack, shown or failed[0].id):
                cause = FORMS[verdict]
            found.append(entry(verdict, clause, _message(pack, cases, failed), cause))
    return found


def entry(verdict: str, clause: str, message: str, cause: str = "") -> dict[str, Any]:
    """An explanation as the Result record holds it; ``cause`` names a page of `LOADING` or `RAISING`."""
    title = CAUSES.get(cause, TITLES[verdict])
    told = LOADING.get(cause) or RAISING.get(cause) or ASKED.get(cause) or PAGES[verdict]
    page = {"id": verdict, "title": title, "clause": clause, **vars(told)}
    return {
        "ids": [verdict],
        "title": title,
        "clause": clause,
        "fits": 0,
        "of": 0,
        "told_by": "verdict",
        "message": message,
        "pages": [page],
    }


def _is_array(pack: Pack, name: str) -> bool:
    """Whether the answer that a case asks for is one array."""
    case = next((case for case in pack.cases if case.id == name), None)
    return case is None or pack.call(case).is_array


def _message(pack: Pack, cases: Sequence[CaseResult], failed: Sequence[CaseResult]) -> str:
    """The first such failure in words, and what those cases have in common. Hidden ones tell nothing."""
    public = [c for c in failed if c.visibility == "public"]
    if not public:
        return "Only hidden checks show it."
    common = _common(pack, cases, {c.id for c in public})
    said = public[0].message
    if not common:
        return said
    return f"{said} Of the visible checks, it happens only {common}."


def _common(pack: Pack, cases: Sequence[CaseResult], failed: set[str]) -> str:
    """What all the failed public cases have and no other public one has; empty if there is no such thing.

    Held against each other are cases that make the same calls: what only tells one function's arguments from
    another's says nothing.
    """
    judged = {
        c.id for c in cases if c.visibility == "public" and c.verdict not in ("skipped", "grader_fault")
    }
    calls = {c.call for c in pack.cases if c.id in failed}
    known = [c for c in pack.cases if c.id in judged and c.call in calls]
    if failed == {c.id for c in known}:
        return ""
    for words, holds in _features(pack, known):
        if {c.id for c in known if holds(c)} == failed:
            return words
    return ""


def _features(pack: Pack, cases: Sequence[PackCase]) -> Iterator[tuple[str, Callable[[PackCase], bool]]]:
    """What a case may be told by, in words and as a test."""
    for name in sorted({name for case in cases for name in case.dims}):
        for value in sorted({case.dims[name] for case in cases if name in case.dims}):
            yield f"where {name} is {value}", lambda c, n=name, v=value: c.dims.get(n) == v  # type: ignore[misc]
        yield f"where {name} is above 1", lambda c, n=name: c.dims.get(n, 0) > 1  # type: ignore[misc]
    yield "where the answer has no elements", lambda c: any(0 in shape for shape in c.shapes)
    yield "where the answer has one row", lambda c: any(shape[:1] == (1,) for shape in c.shapes)
    arguments: dict[str, list[tuple[str, PlacedArray]]] = {}
    for case in cases:
        placed = [pack.plans[case.visibility][step] for step in case.steps]
        calls = [step for step in placed if not isinstance(step, int)]
        pairs = [(n, a) for step in calls for n, a in zip(pack.parameters(case), step, strict=True)]
        arguments[case.id] = [(n, array) for n, a in pairs for array in placed_arrays(a)]
    yield "where arrays are read-only", lambda c: any(a.read_only for _, a in arguments[c.id])
    seen = sorted({(n, a.dtype) for found in arguments.values() for n, a in found})
    for name, dtype in seen:
        yield (
            f"where {name} has the dtype {dtype.lstrip('<|')}",
            lambda c, n=name, d=dtype: any(n == m and a.dtype == d for m, a in arguments[c.id]),  # type: ignore[misc]
        )
    yield (
        "where arrays do not lie row by row in memory",
        lambda c: any(a.layout != "c" for _, a in arguments[c.id]),
    )
