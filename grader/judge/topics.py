"""What a pack has to say about a clause, a case, a known mistake, a rule of the policy, a verdict, or a term.

A topic is plain data: ``kind``, ``id``, ``title``, and what its kind has. Mistakes, rules and verdicts have
the four sections of a page: ``what``, ``why``, ``looks``, ``instead``; those that are not there are empty.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.errors import GraderError
from grader.exercise.known import UNSTABLE, KnownMistake
from grader.exercise.near import near_misses
from grader.exercise.pack import Pack, PackCase
from grader.exercise.pages import Page
from grader.judge.details import MAX_SHOWN, describe_inputs, plain
from grader.judge.explanations import PAGES, TITLES
from grader.judge.terms import TERMS, VERDICT_WORDS

KINDS = ("clause", "case", "mistake", "rule", "verdict", "term")

# The verdicts that no diagnosis explains, in the same form.
OTHER_VERDICTS: Mapping[str, tuple[str, Page]] = {
    "passed": ("The check holds", Page("The answer is what was asked for.", "", "", "")),
    "wrong_value": (
        "The answer has other values",
        Page(
            "The answer has the right type and shape, and some of its values are off by more than rounding.",
            "What is allowed is ten times what honest arithmetic in single precision was measured to do on "
            "that very check, so a difference beyond it comes from another formula.",
            "",
            "Look at what to fix first in the report; else run the snippet of the smallest failing check and "
            "compare your intermediate results with the statement by hand.",
        ),
    ),
    "relation_violated": (
        "A property does not hold",
        Page(
            "The check holds no values against expected ones. It asks for what is so with every right "
            "answer: that two calls agree or differ in certain rows, that a sentence about one answer is "
            "true, or that over many calls chance does what was asked for.",
            "The report says which of these does not hold, and what was expected of what was counted.",
            "",
            "Find the sentence of the statement that asks for it, and hold the answer in the report against "
            "it. --snippet writes the calls of that check as a small program, --debug steps through them.",
        ),
    ),
    "skipped": (
        "The check is not counted",
        Page(
            "The check was not judged, and gives no points.",
            "Either nothing could be called, or the check requires another one that failed: a property that "
            "an answer of zeros has too earns nothing unless values are right somewhere.",
            "",
            "Mend what the report names as the reason; this check then counts by itself.",
        ),
    ),
    "grader_fault": (
        "The grader failed",
        Page(
            "The grader itself failed on this check, whatever your file does.",
            "It costs no points, and there is no score until it has been run again.",
            "",
            "Nothing in your file. Run it once more, and tell your teacher if it stays.",
        ),
    ),
}

# What stands for all topics of a kind.
_WHOLE = ("rules", "clauses", "verdicts")
NO_PAGE = "What the exercise asks for is left to a helper of a library."

Topic = dict[str, Any]


def find(pack: Pack, name: str) -> list[Topic]:
    """The topics of a name: an id, a title in any case, or another word for it; mostly one, as names of kinds
    may coincide.

    Raises:
        GraderError: There is none; the message names near ones.
    """
    names = _names(pack)
    wanted = _folded(name)
    ids = {key for key in names if _folded(key[1]) == wanted}
    found = ids or {key for key, title in names.items() if title and _folded(title) == wanted}
    found = found or {key for key in (_words().get(wanted),) if key in names}
    if not found:
        raise GraderError(f"nothing is called {name!r} in {pack.exercise.name}{_near(pack, name, names)}")
    return [_topic(pack, *key) for key in names if key in found]


def listing(pack: Pack) -> list[Topic]:
    """Kind, id and title of everything that can be explained, and the clause of cases and mistakes."""
    clauses = {("case", c.id): c.clause for c in pack.cases}
    clauses |= {("mistake", m.id): m.clause for m in _mistakes(pack)}
    return [
        {"kind": kind, "id": one, "title": title}
        | ({"clause": clauses[kind, one]} if (kind, one) in clauses else {})
        for (kind, one), title in _names(pack).items()
    ]


def _names(pack: Pack) -> dict[tuple[str, str], str]:
    """The title of everything that can be explained, by kind and id."""
    exercise = pack.exercise
    names = {("clause", name): clause["title"] for name, clause in exercise.clauses.items()}
    names |= {("case", case.id): case.title for case in pack.cases}
    names |= {("mistake", one.id): one.title for one in _mistakes(pack)}
    names |= {("rule", rule["id"]): rule["title"] for rule in _rules(pack)}
    names |= {("verdict", name): title for name, title in TITLES.items()}
    names |= {("verdict", name): title for name, (title, _) in OTHER_VERDICTS.items()}
    return names | {("term", name): term.title for name, term in TERMS.items()}


def _words() -> dict[str, tuple[str, str]]:
    """Other words for terms and verdicts, with what they stand for."""
    terms = {word: ("term", name) for name, term in TERMS.items() for word in term.also}
    return terms | {word: ("verdict", name) for word, name in VERDICT_WORDS.items()}


def _folded(name: str) -> str:
    return "_".join(name.replace("-", " ").replace("_", " ").casefold().split()).rstrip(".")


def _near(pack: Pack, name: str, names: Mapping[tuple[str, str], str]) -> str:
    """Near names; those of hidden cases are not told to someone who guesses."""
    hidden = {case.id for case in pack.cases if case.visibility == "hidden"}
    shown = {key: title for key, title in names.items() if key[0] != "case" or key[1] not in hidden}
    folded = _folded(name)
    near = list(dict.fromkeys(near_misses(folded, [one for _, one in shown])))
    if not near:
        words = _words()
        near = [words[word][1] for word in near_misses(folded, list(words)) if words[word] in names]
    if not near:
        titles = {_folded(title): one for (_, one), title in shown.items() if title}
        near = [titles[t] for t in difflib.get_close_matches(folded, list(titles), n=3, cutoff=0.7)]
    if not near:
        near = [one for _, one in shown if len(folded) > 3 and folded in one]
    if not near:
        return "; grader explain lists what can be explained"
    return f"; did you mean {' or '.join(map(repr, list(dict.fromkeys(near))[:3]))}?"


def _topic(pack: Pack, kind: str, name: str) -> Topic:
    if kind == "clause":
        return _clause(pack, name)
    if kind == "case":
        return _case(pack, next(case for case in pack.cases if case.id == name))
    if kind == "mistake":
        return _mistake(pack, next(one for one in _mistakes(pack) if one.id == name))
    if kind == "rule":
        return _rule(pack, next(rule for rule in _rules(pack) if rule["id"] == name))
    if kind == "term":
        return _term(pack, name)
    title, page = (TITLES[name], PAGES[name]) if name in TITLES else OTHER_VERDICTS[name]
    return {"kind": "verdict", "id": name, "title": title, **vars(page)}


def _clause(pack: Pack, name: str) -> Topic:
    clause = pack.exercise.clauses[name]
    cases = [case for case in pack.cases if case.clause == name]
    return {
        "kind": "clause",
        "id": name,
        "title": clause["title"],
        "text": clause["text"],
        "points": sum(case.points for case in cases if not case.extra),
        "cases": [_named(c.id, c.title) for c in cases if c.visibility == "public"],
        "hidden": sum(case.visibility == "hidden" for case in cases),
        "mistakes": [_named(m.id, m.title) for m in _mistakes(pack) if m.clause == name],
    }


def _term(pack: Pack, name: str) -> Topic:
    term = TERMS[name]
    names = _names(pack)
    see = []
    for word in term.see:
        kind = word[:-1] if word in _WHOLE else ""
        see += [
            _named(one, title)
            for (of, one), title in names.items()
            if (of == kind if kind else one == word and of in ("term", "verdict"))
        ]
    return {
        "kind": "term",
        "id": name,
        "title": term.title,
        "what": term.what,
        "looks": term.looks,
        "see": see,
    }


def _named(name: str, title: str) -> dict[str, str]:
    return {"id": name, "title": title}


# --- cases ----------------------------------------------------------------------------------------


def _case(pack: Pack, case: PackCase) -> Topic:
    exercise = pack.exercise
    clause = exercise.clauses[case.clause]
    topic: Topic = {
        "kind": "case",
        "id": case.id,
        "title": case.title,
        "clause": case.clause,
        "clause_title": clause["title"],
        "clause_text": clause["text"],
        "group": case.group,
        "visibility": case.visibility,
        "points": case.points,
        "extra": case.extra,
        "drawn": case.drawn,
        "requires": list(case.requires),
        "hint": case.hint,
        "check": case.check,
        "asks": asks(case),
        "dims": dict(case.dims),
        "inputs": describe_inputs(pack.arguments(case)),
        "changes": _changes(pack, case),
        "shape": list(case.shapes[0]) if pack.call(case).is_array and not case.chance else None,
        "tolerance": case.tolerance,
        # Of an answer of several parts each has an allowance of its own.
        "allowed": case.tolerance * case.scale if case.tolerance is not None and not case.leaves else None,
        "catches": [_named(one.id, one.title) for one in caught(pack, case)],
    }
    if case.answer:
        topic["texts"] = [["Expected", case.answer]]
    elif case.check == "compare" and pack.expected(case).size <= MAX_SHOWN:
        topic["expected"] = plain(pack.expected(case))
    return topic


def asks(case: PackCase) -> str:
    """What a case asks of the answer, in a sentence."""
    options = case.options
    if case.check == "raises":
        told = "".join(f", with {text!r} in its message" for text in options.get("mentions", ()))
        return f"The call must end in the exception {' or '.join(options['raises'])}{told}."
    if case.check == "holds":
        return " ".join(f"{claim['says'].rstrip('.')}." for claim in options["holds"])
    if case.check == "statistic":
        return (
            f"{options['says'].rstrip('.')}. What {len(case.steps)} calls do, each with random numbers of "
            "its own, is counted; a right answer fails less than once in a thousand million."
        )
    if case.check == "compare":
        return "The answer is compared with the expected one, element by element."
    if case.check == "finite":
        return "Every value of the answer must be finite; its values are not compared."
    if case.check == "equals":
        first, other = _rows(options.get("rows")), _rows(options.get("other_rows"))
        return f"Two calls are made: {first} of the first answer must equal {other} of the second."
    if case.check == "differs":
        first, other = _rows(options.get("rows")), _rows(options.get("other_rows"))
        return f"Two calls are made: {first} of the first answer must differ from {other} of the second."
    if case.check == "same_on_repeat":
        return "The same call is made again and must give the same answer."
    if case.check == "earlier_answer_kept":
        return "A later call must leave the first answer as it was."
    if case.check == "inputs_unchanged":
        return f"{options['argument']} must be as before, in this call and in those of all other checks."
    assert case.check == "output_not_aliased", case.check
    return "The answer must share no memory with an argument."


def _rows(rows: Sequence[int] | None) -> str:
    if rows is None:
        return "all rows"
    return f"{'row' if len(rows) == 1 else 'rows'} {', '.join(map(str, rows))}"


def _changes(pack: Pack, case: PackCase) -> list[str]:
    """Names of the arguments in which a later call of the case differs from the first."""
    plan = pack.plans[case.visibility]
    calls = [number for number, step in enumerate(case.steps) if not isinstance(plan[step], int)]
    first = pack.arguments(case)
    changed = set()
    for number in calls[1:]:
        for (name, before), (_, after) in zip(first, pack.arguments(case, number), strict=True):
            if np.shape(before) != np.shape(after) or np.asarray(before).tobytes() != (
                np.asarray(after).tobytes()
            ):
                changed.add(name)
    return [name for name, _ in first if name in changed]


def caught(pack: Pack, case: PackCase) -> list[KnownMistake]:
    """The known mistakes that surely fail a case, those of its own clause first.

    Of cases that hold two calls against each other it is not known.
    """
    known = pack.known
    if case.check == "inputs_unchanged":
        found = [m for m in known.mistakes if case.options["argument"] in m.overwritten]
    elif case.check == "output_not_aliased":
        found = [m for m in known.mistakes if m.aliased]
    elif case.check == "same_on_repeat":
        found = [m for m in known.mistakes if m.unrepeatable]
    elif case.check == "compare":
        found = [m for number, m in enumerate(known.mistakes) if _fails(pack, case, number)]
    else:
        found = []
    return sorted(found, key=lambda m: m.clause != case.clause)


def _fails(pack: Pack, case: PackCase, mistake: int) -> bool:
    """Whether a mistake's answer to a case whose values are compared is surely beyond the tolerance."""
    prints = pack.known.phases.get(case.visibility)
    if prints is None or case.tolerance is None:
        return False
    step = case.steps[0]
    answer = int(prints.index[mistake, step])
    if answer in (0, UNSTABLE):
        return False
    right = int(prints.starts[step])
    row = right + answer
    if prints.row_kinds[row] != prints.row_kinds[right]:
        return True
    apart = float(np.max(np.abs(prints.rows[row].astype(np.float64) - prints.rows[right])))
    # Elements that are off by e move a projection by no more than this.
    return apart > math.sqrt(max(math.prod(case.shapes[0]), 1)) * case.tolerance * case.scale


# --- mistakes and rules ---------------------------------------------------------------------------


def _mistakes(pack: Pack) -> tuple[KnownMistake, ...]:
    """All known mistakes; those that stay inside rounding last."""
    return (*pack.known.mistakes, *pack.known.slips)


def _mistake(pack: Pack, one: KnownMistake) -> Topic:
    failed = [case for case in pack.cases if one in caught(pack, case)]
    failed.sort(key=lambda case: (case.clause != one.clause, case.drawn))
    return {
        "kind": "mistake",
        "id": one.id,
        "title": one.title,
        "clause": one.clause,
        "clause_title": pack.exercise.clauses[one.clause]["title"],
        **vars(one.page),
        "small": one in pack.known.slips,
        "caught_by": [_named(c.id, c.title) for c in failed if c.visibility == "public"],
        "hidden": sum(case.visibility == "hidden" for case in failed),
        "example": _example(pack, one.id),
    }


def _example(pack: Pack, mistake: str) -> dict[str, Any] | None:
    """The smallest input that tells the mistake, as a record's ``counterexample`` has it."""
    follow = pack.follow_up
    if follow is None:
        return None
    found = [(e.numbers, n) for n, e in enumerate(follow.examples) if e.misconception == mistake]
    if not found:
        return None
    number = min(found)[1]
    example = follow.examples[number]
    example = follow.examples[number]
    pairs = zip(pack.exercise.calls[example.call].parameters, follow.arguments(number), strict=True)
    return {
        "dims": dict(example.dims),
        "inputs": describe_inputs(list(pairs)),
        "expected": plain(example.answer()) if not example.leaves else None,
        "texts": [["Expected", example.answer_text]] if example.leaves else [],
        "trace": example.part,
    }


def _rules(pack: Pack) -> Sequence[Mapping[str, Any]]:
    rules: Sequence[Mapping[str, Any]] = pack.exercise.policy.get("rules", ())
    return rules


def _rule(pack: Pack, rule: Mapping[str, Any]) -> Topic:
    return {
        "kind": "rule",
        "id": rule["id"],
        "title": rule["title"],
        "what": rule.get("what", NO_PAGE),
        "why": rule["why"],
        "looks": rule.get("looks", ""),
        "instead": rule["instead"],
        "names": list(rule.get("names", ())),
        "methods": list(rule.get("methods", ())),
        "effect": dict(pack.exercise.policy.get("effect", {})),
    }
