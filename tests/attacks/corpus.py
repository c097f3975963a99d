"""The corpus of attacks: the files in ``submissions``, and in ``expected.yaml`` what each must get."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.result import Result

HERE = Path(__file__).resolve().parent
LEVELS = ("none", "partial", "full")
# For attacks that end by themselves, and for those that never do.
PATIENT = {"seconds_per_call": 20, "seconds": 120, "memory": 256 << 20, "output": 64 << 10}
IMPATIENT = {"seconds_per_call": 0.3, "seconds": 6, "memory": 64 << 20, "output": 4 << 10}
# Cases beside those of the small exercise: what an answer's memory becomes, and the same call again.
MORE: list[dict[str, Any]] = [
    {
        "id": "answer_stays",
        "title": "An answer stays as it was",
        "clause": "product",
        "points": 1,
        "requires": ["ones_row"],
        "dims": {"N": 2, "D": 2, "K": 2, "factor": 1},
        "check": {
            "relation": "earlier_answer_kept",
            "change": {"x": {"edits": [{"at": [1, 0], "to": 3}]}},
        },
    },
    {
        "id": "same_again",
        "title": "The same call again",
        "clause": "product",
        "points": 1,
        "requires": ["ones_row"],
        "dims": {"N": 2, "D": 2, "K": 2, "factor": 2},
        "check": {
            "relation": "same_on_repeat",
            "change": {"x": {"edits": [{"at": [1, 0], "to": 3}]}},
        },
    },
]
# A record that one submission can make larger than this fills the gradebook of a class.
MAX_RECORD = 1 << 20


@dataclass(frozen=True)
class Attack:
    """One submission and what it must get.

    Attributes:
        name: Of its file, without the ending.
        tries: What it tries, in a sentence that begins with "to".
        status: What the record's may be.
        loses: Ids of exactly those cases that do not pass, with the verdicts that each may get.
        score: Lowest and highest score; None for full marks less what ``loses`` costs. With a score, which
            cases are lost is left open.
        verdicts: With a score, all that may appear beside ``passed``; None for any.
        policy: What the policy check may say.
        says: What its output must hold, so that an attack that did not run is no success.
        message: What the record's sentence must hold.
        limits: ``patient``, or ``impatient`` for what never ends.
        needs: The weakest isolation level at which it can be run without harming the machine.
        machine: The only machine on which it can be run, or empty.
        exercise: The exercise that it answers.
        solution: The worked submission that it contains, where it answers ``mlm_forward``.
        slow: It is left out of a quick run.
        partial: What differs at isolation level ``partial``.
    """

    name: str
    tries: str
    status: tuple[str, ...] = ("passed",)
    loses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    score: tuple[float, float] | None = None
    verdicts: tuple[str, ...] | None = None
    policy: tuple[str, ...] = ("clean",)
    says: str = ""
    message: str = ""
    limits: str = "patient"
    needs: str = "partial"
    machine: str = ""
    exercise: str = "row_scale"
    solution: str = "right_einsum"
    slow: bool = False
    partial: Mapping[str, Any] = field(default_factory=dict)

    def at(self, level: str) -> Attack:
        """What it must get at an isolation level."""
        return _attack(self.name, _table()[self.name] | dict(self.partial)) if level == "partial" else self

    def runs_at(self, level: str) -> bool:
        """Whether it can be run at a level without harm to the machine."""
        return LEVELS.index(level) >= LEVELS.index(self.needs)


def _attack(name: str, entry: Mapping[str, Any]) -> Attack:
    given = dict(entry)
    unknown = given.keys() - {f.name for f in fields(Attack)}
    assert not unknown, f"{name}: unknown keys {sorted(unknown)}"
    for key in ("status", "policy", "verdicts"):
        if isinstance(given.get(key), str):
            given[key] = (given[key],)
        elif isinstance(given.get(key), list):
            given[key] = tuple(given[key])
    if isinstance(given.get("loses"), dict):
        given["loses"] = {k: (v,) if isinstance(v, str) else tuple(v) for k, v in given["loses"].items()}
    if isinstance(given.get("score"), (int, float)):
        given["score"] = (given["score"], given["score"])
    elif isinstance(given.get("score"), list):
        given["score"] = tuple(given["score"])
    return Attack(name, **given)


@cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "expected.yaml").read_text("utf-8"))
    return table


def attacks() -> list[Attack]:
    """All attacks, in the table's order."""
    return [_attack(name, entry) for name, entry in _table().items()]


def named(*, only: Collection[str] | None = None, without: Collection[str] = ()) -> list[Any]:
    """Names of attacks as parameters of a test, the slow ones marked."""
    return [
        pytest.param(attack.name, marks=pytest.mark.slow) if attack.slow else attack.name
        for attack in attacks()
        if attack.name not in without and (only is None or attack.name in only)
    ]


def files() -> list[str]:
    """The names of the files in the folder."""
    return sorted(path.stem for path in (HERE / "submissions").glob("*.py"))


def text(attack: Attack, world: Mapping[str, Any]) -> str:
    """The submission as it is handed in: the prelude that knows the world, then the attack's own file.

    Args:
        attack: Which.
        world: The values of `World.values`.
    """
    prelude = (HERE / "prelude.py").read_text("utf-8")
    prelude = prelude.replace("WORLD = {}\n", f"WORLD = {dict(world)!r}\n")
    own = (HERE / "submissions" / f"{attack.name}.py").read_text("utf-8")
    if attack.exercise == "row_scale":
        return f"{prelude}\n\n{own}"
    worked = HERE.parents[1] / "submissions" / attack.exercise / f"{attack.solution}.py"
    return f"{worked.read_text('utf-8')}\n\nsolution = {attack.exercise}\n\n\n{prelude}\n{own}"


def faults(attack: Attack, result: Result, secrets: Mapping[str, str], level: str) -> list[str]:
    """What is wrong about what an attack got, one line each.

    Args:
        attack: What it must get, at this level.
        result: Its record.
        secrets: Texts that may appear nowhere in it.
        level: The isolation level that was asked for.
    """
    found: list[str] = []
    record = result.to_json()
    said = "".join(
        (result.output.stdout, result.output.stderr, result.hidden_output.stdout, result.hidden_output.stderr)
    )
    if result.isolation.level != level:
        found.append(f"isolation is {result.isolation.level}, expected {level}")
    # The record quotes the submission's own lines, and one of them is what would say so.
    if "ESCAPED" in replace(result, excerpt=()).to_json():
        found.append("it says that it escaped: " + _lines(said, "ESCAPED"))
    found += [f"the secret of {place} came back" for place, text in secrets.items() if text in record]
    if attack.says and attack.says not in said:
        found.append(f"its output lacks {attack.says!r}, so it was not tried: {said[-500:]!r}")
    if result.status not in attack.status:
        found.append(f"status is {result.status}, expected {' or '.join(attack.status)}")
    if result.policy.status not in attack.policy:
        found.append(f"policy is {result.policy.status}, expected {' or '.join(attack.policy)}")
    if attack.message not in result.message:
        found.append(f"the message lacks {attack.message!r}")
    if len(record) > MAX_RECORD:
        found.append(f"the record has {len(record):,} characters")
    got = {c.id: c.verdict for c in result.cases if c.verdict != "passed"}
    points = {c.id: c.max_points for c in result.cases}
    if attack.score is None:
        lowest = highest = result.max_score - sum(points[name] for name in attack.loses)
        if got.keys() != attack.loses.keys():
            found.append(f"it loses {sorted(got)}, expected {sorted(attack.loses)}")
        for name in got.keys() & attack.loses.keys():
            if got[name] not in attack.loses[name]:
                found.append(f"{name} is {got[name]}, expected {' or '.join(attack.loses[name])}")
    else:
        lowest, highest = attack.score
        if attack.verdicts is not None and not set(got.values()) <= set(attack.verdicts):
            found.append(f"verdicts are {sorted(set(got.values()))}, allowed are {sorted(attack.verdicts)}")
    if result.score is None or not lowest - 1e-6 <= result.score <= highest + 1e-6:
        found.append(f"score is {result.score}, expected {lowest:g} to {highest:g}")
    if found:
        shown = {c.id: f"{c.verdict}: {c.message[:150]}" for c in result.cases if c.verdict != "passed"}
        found.append(f"(message {result.message[:400]!r}; {shown}; output ends {said[-600:]!r})")
    return found


def _lines(text: str, word: str) -> str:
    return " / ".join(line[:300] for line in text.splitlines() if word in line)[:2000]
