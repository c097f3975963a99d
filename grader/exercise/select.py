"""A part of a pack: some of its cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from grader.errors import GraderError
from grader.exercise.calls import PhaseBuilder, unplaced
from grader.exercise.near import did_you_mean, near_misses
from grader.exercise.pack import Pack, PackCase


def select(pack: Pack, *, cases: Sequence[str], clauses: Sequence[str]) -> Pack:
    """The pack with only the named cases and the cases of the named clauses; what they require is dropped.

    Clauses go by their name or their title.

    Raises:
        GraderError: A name is unknown.
    """
    ids = {case.id for case in pack.cases}
    # The names of hidden cases are not told to someone who guesses.
    public = [case.id for case in pack.cases if case.visibility == "public"]
    for name in cases:
        if name not in ids:
            near = near_misses(name, public) or _meant(pack, name)
            hint = f"; did you mean {near[0]!r}?" if near else "; grader explain CLAUSE lists the ids"
            raise GraderError(f"no case {name!r} in {pack.exercise.name}{hint}")
    known = list(pack.exercise.clauses)
    titles = {clause["title"].casefold(): name for name, clause in pack.exercise.clauses.items()}
    clauses = [titles.get(name.casefold(), name) for name in clauses]
    for name in clauses:
        if name not in known:
            # A title may be mistyped too.
            near = near_misses(name.casefold(), list(titles))
            hint = f"; did you mean {titles[near[0]]!r}?" if near else did_you_mean(name, known)
            raise GraderError(f"no clause {name!r} in {pack.exercise.name}{hint}")
    chosen = [case for case in pack.cases if case.id in cases or case.clause in clauses]
    builders: dict[str, PhaseBuilder] = {}
    numbers: dict[str, list[int]] = {}
    kept: list[PackCase] = []
    for case in chosen:
        builder = builders.setdefault(case.visibility, PhaseBuilder())
        steps = _copy_steps(pack, case, builder)
        numbers.setdefault(case.visibility, []).extend(case.steps)
        kept.append(replace(case, steps=tuple(steps), requires=()))
    blocks = {name: builders[name].finish() for name in pack.blocks if name in builders}
    part = replace(pack, cases=tuple(kept), blocks=blocks)
    phases = {
        name: pack.known.phases[name].take(steps) for name, steps in numbers.items() if pack.known.phases
    }
    part.__dict__["known"] = replace(pack.known, phases=phases)
    return part


def _meant(pack: Pack, name: str) -> list[str]:
    """Ids of the public cases of that title, or that a pattern of a shell's names."""
    public = [case for case in pack.cases if case.visibility == "public"]
    title = name.casefold().rstrip(".")
    return [case.id for case in public if case.title.casefold().rstrip(".") == title and title] or [
        case.id for case in public if set(name) & set("*?[") and fnmatchcase(case.id, name)
    ]


def _copy_steps(pack: Pack, case: PackCase, builder: PhaseBuilder) -> list[int]:
    """The case's steps appended to a new phase; their new numbers."""
    plan = pack.plans[case.visibility]
    block = pack.blocks[case.visibility]
    numbers: dict[int, int] = {}
    for old in case.steps:
        step = plan[old]
        if isinstance(step, int):
            numbers[old] = builder.add_reread(numbers[step])
            continue
        numbers[old] = builder.add_call([unplaced(a, block) for a in step], step.call)
    return [numbers[old] for old in case.steps]
