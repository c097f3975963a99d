"""Findings of the run-time check join the static report; what a submission forges does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from policy_samples import DATA, RULES, report

from grader.outcomes import MOST_FAILURES, Failure, LoadOutcome
from grader.policy.rules import Rules
from grader.policy.runtime import MOST_FINDINGS, TAMPERED, finding, merge, settle, tampering
from grader.sandbox import records
from grader.sandbox.inside import parts

CLEAN = "import torch\ndef mlm_forward(x):\n    f = getattr(torch, x.name)\n    return f(x)\n"
DIRECT = "import torch\ndef mlm_forward(x):\n    return torch.softmax(x, -1)\n"
UNREACHED = (
    "import torch\ndef helper(x):\n    return torch.softmax(x, -1)\ndef mlm_forward(x):\n    return x\n"
)


def ran(
    helper: str = "torch.softmax", operator: str = "aten::_softmax", line: int = 4, rule: str = "softmax"
) -> Any:
    return {"rule": rule, "helper": helper, "operator": operator, "line": line, "message": "Trust me."}


def test_a_helper_found_only_while_it_ran_is_a_violation() -> None:
    merged: Any = merge(report(CLEAN), [ran()], RULES)
    assert merged["violations"] == [
        {
            "rule": "softmax",
            "helper": "torch.softmax",
            "operator": "aten::_softmax",
            "line": 4,
            "column": 0,
            "found": "runtime",
            "message": "Line 4 ran torch.softmax (as aten::_softmax), a softmax helper; "
            "write it from its formula: exp(s - max) over its sum.",
        }
    ]
    assert json.loads(json.dumps(merged)) == merged


def test_a_helper_of_unknown_line_is_told_without_one() -> None:
    merged: Any = merge(report(CLEAN), [ran(line=0, operator="torch.softmax")], RULES)
    (violation,) = merged["violations"]
    assert violation["message"].startswith(
        "While it ran, torch.softmax, a softmax helper, was used; write it"
    )


@pytest.mark.parametrize(
    "found",
    [
        ran(line=3),
        ran(line=7),
        ran(line=0),
        ran("torch.nn.functional.softmax", line=3),
        ran("torch.nn.functional.softmax", line=0),
    ],
    ids=["same", "other_line", "no_line", "same_line_other_name", "no_line_other_name"],
)
def test_what_the_static_check_has_said_is_not_repeated(found: Any) -> None:
    static = report(DIRECT)
    assert merge(static, [found], RULES) == static


def test_another_helper_on_another_line_is_added_in_order() -> None:
    merged: Any = merge(
        report(DIRECT),
        [ran("torch.nn.functional.softmax", line=2), ran("torch.relu", "", 9, "activation")],
        RULES,
    )
    assert [(v["line"], v["found"]) for v in merged["violations"]] == [
        (2, "runtime"),
        (3, "static"),
        (9, "runtime"),
    ]


def test_a_note_that_nothing_reaches_a_helper_goes_when_it_ran() -> None:
    static = report(UNREACHED)
    assert len(static["notes"]) == 1
    merged: Any = merge(static, [ran(line=3)], RULES)
    assert merged["notes"] == []
    assert len(merged["violations"]) == 1
    other: Any = merge(static, [ran("torch.relu", "", 9, "activation")], RULES)
    assert len(other["notes"]) == 1


def test_the_report_given_is_left_as_it_was() -> None:
    static = report(UNREACHED)
    before = json.dumps(static)
    merge(static, [ran(line=3)], RULES)
    assert json.dumps(static) == before


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_is_suspicious(what: str) -> None:
    merged: Any = merge(
        report("def mlm_forward(x):\n    return x\n"), [tampering(what, 2), tampering(what)], RULES
    )
    assert merged["violations"] == []
    (sign,) = merged["suspicious"]
    assert (sign["helper"], sign["line"], sign["found"]) == (what, 2, "runtime")
    assert sign["message"].startswith("Line 2 ")
    assert "costs nothing" in sign["message"]


class Sly(str):
    """A text that says to be another one."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


FORGED: dict[str, Any] = {
    "nothing": None,
    "no_list": {"rule": "softmax"},
    "text": "torch.softmax",
    "no_mapping": ["torch.softmax"],
    "empty": [{}],
    "unknown_rule": [ran(rule="cheating")],
    "other_rule": [ran(rule="activation")],
    "allowed_helper": [ran("torch.exp")],
    "helper_that_no_rule_names": [ran("torch.matmul")],
    "markup": [ran("torch.<b>softmax")],
    "line_end": [ran("torch.softmax\n")],
    "long": [ran("torch." + "x" * 400 + "softmax")],
    "number": [ran(helper=7)],  # type: ignore[arg-type]
    "sly": [ran(Sly("torch.matmul"))],
    "unknown_sign": [{"rule": "tampering", "helper": "everything", "line": 1}],
    "sly_sign": [{"rule": "tampering", "helper": Sly("everything"), "line": 1}],
}


@pytest.mark.parametrize("found", FORGED.values(), ids=FORGED)
def test_what_is_forged_is_dropped(found: Any) -> None:
    static = report(CLEAN)
    assert merge(static, found, RULES) == static


@pytest.mark.parametrize("line", [-1, 10**9, True, 2.5, "4", None])
def test_a_line_that_cannot_be_is_unknown(line: Any) -> None:
    merged: Any = merge(report(CLEAN), [ran(line=line)], RULES)
    assert [v["line"] for v in merged["violations"]] == [0]


@pytest.mark.parametrize("operator", ["<img src=x>", "a" * 300, "a b", "x\n", 5, None])
def test_an_operator_that_cannot_be_is_left_out(operator: Any) -> None:
    merged: Any = merge(report(CLEAN), [ran(operator=operator)], RULES)
    (violation,) = merged["violations"]
    assert violation["operator"] == ""
    assert violation["message"].startswith("Line 4 ran torch.softmax, a softmax helper; ")


def test_a_flood_is_cut() -> None:
    merged: Any = merge(report(CLEAN), [ran(line=n) for n in range(1, 100_000)], RULES)
    assert len(merged["violations"]) == MOST_FINDINGS


def test_a_method_has_its_rule() -> None:
    merged: Any = merge(report(CLEAN), [ran("torch.Tensor.relu", "", 4, "activation")], RULES)
    assert [v["helper"] for v in merged["violations"]] == ["torch.Tensor.relu"]


# --- aliases ------------------------------------------------------------------------------------

ALIASED = Rules.from_dict({**DATA, "aliases": {"torch.ops.aten.odd_name": "torch.nn.GELU"}})


def test_an_alias_is_the_helper() -> None:
    rule = ALIASED.banned("torch.ops.aten.odd_name")
    assert rule is not None
    assert rule.id == "activation"
    assert RULES.banned("torch.ops.aten.odd_name") is None
    assert ALIASED.canonical("torch.ops.aten.odd_name") == "torch.nn.GELU"
    assert ALIASED.canonical("torch.exp") == "torch.exp"
    merged: Any = merge(report(CLEAN), [ran("torch.ops.aten.odd_name", "", 4, "activation")], ALIASED)
    assert [v["helper"] for v in merged["violations"]] == ["torch.nn.GELU"]


@pytest.mark.parametrize("aliases", [["a.b"], {"a.b": 1}, {1: "a.b"}, "a.b"])
def test_aliases_are_texts(aliases: Any) -> None:
    with pytest.raises(ValueError, match="'aliases'"):
        Rules.from_dict({**DATA, "aliases": aliases})


def test_a_finding_and_a_sign_are_plain_data() -> None:
    rule = RULES.banned("torch.softmax")
    assert rule is not None
    for made in (finding(rule, "torch.softmax", "", 1), tampering("wrapper")):
        assert json.loads(json.dumps(made)) == made
        assert set(made) == {"rule", "helper", "operator", "line", "message"}


def test_what_only_a_hidden_check_ran_is_told_by_its_rule_alone() -> None:
    """Its process has seen hidden inputs, and names and lines can be made to tell them."""
    found = [ran(helper=f"torch.softmax_{n}", line=n) | {"phase": "hidden"} for n in range(1, 40)]
    merged: Any = merge(report(CLEAN), found, RULES)
    (violation,) = merged["violations"]
    assert (violation["rule"], violation["line"], violation["column"]) == ("softmax", 0, 0)
    assert "softmax_" not in json.dumps(merged["violations"]) and "hidden check" in violation["message"]
    public: Any = merge(report(CLEAN), [ran() | {"phase": "public"}, *found], RULES)
    assert public == merge(report(CLEAN), [ran()], RULES), "the rule is known, so nothing is added"


def test_what_a_hidden_check_ran_changes_no_note() -> None:
    static = report(UNREACHED)
    hidden: Any = merge(static, [ran(line=3) | {"phase": "hidden"}], RULES)
    assert hidden["notes"] == static["notes"] and hidden["violations"]


# --- cells that end early -----------------------------------------------------------------------


def resting(groups: Any) -> Any:
    found = report(DIRECT)
    found["violations"][0]["if_failed"] = groups
    return found


@pytest.mark.parametrize(
    ("groups", "failed", "stands"),
    [
        ([[4]], {4}, True),
        ([[4]], {7}, False),
        ([[4]], set(), False),
        ([[4, 7]], {7}, True),
        ([[4], [7]], {7}, False),
        ([[4], [7]], {4, 7}, True),
        ([[4]], None, True),
        (4, set(), True),
        ([4], set(), True),
    ],
)
def test_a_violation_stands_where_its_cells_ended_early(groups: Any, failed: Any, stands: bool) -> None:
    settled: Any = settle(resting(groups), failed)
    found = settled["violations" if stands else "suspicious"]
    assert [entry["helper"] for entry in found] == ["torch.softmax"]
    assert "if_failed" not in found[0]
    assert not settled["suspicious" if stands else "violations"]
    assert ("costs nothing" in found[0]["message"]) is not stands
    assert settle(settled, failed) == settled


def test_what_stands_in_any_case_is_left_alone() -> None:
    assert settle(report(DIRECT), set()) == report(DIRECT)


def test_what_ran_is_told_beside_what_may_not_stand() -> None:
    merged: Any = merge(resting([[4]]), [ran(line=3)], RULES)
    assert {entry["found"] for entry in merged["violations"]} == {"runtime", "static"}
    settled: Any = settle(merged, set())
    assert [entry["found"] for entry in settled["violations"]] == ["runtime"]
    hidden: Any = merge(resting([[4]]), [ran() | {"phase": "hidden"}], RULES)
    assert len(hidden["violations"]) == 2


def test_which_cells_ended_early_is_known_where_fewer_are_told_than_can_be() -> None:
    def told(count: int, **keys: Any) -> frozenset[int] | None:
        failures = tuple((first, Failure("ValueError", "x")) for first in range(1, count + 1))
        return LoadOutcome(**{"state": "returned", "failures": failures} | keys).failed_cells

    assert told(0) == frozenset()
    assert told(2) == {1, 2}
    assert told(MOST_FAILURES) is None, "others may have ended early too"
    assert told(0, state="crashed") is None
    assert MOST_FAILURES == records.MAX_FAILURES == parts.MAX_FAILURES
