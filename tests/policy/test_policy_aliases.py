"""The alias table of a policy file is checked like everything else in it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from grader.exercise.models import Policy

RULE = {
    "id": "softmax",
    "title": "Softmax helpers",
    "why": "It is the exercise.",
    "instead": "Write it.",
    "names": ["torch.*softmax*"],
}
ALIAS = "torch.ops.aten._odd"


def policy(aliases: Any, allowed: tuple[str, ...] = ()) -> Policy:
    return Policy.model_validate({"rules": [RULE], "allowed": list(allowed), "aliases": aliases})


def test_an_alias_names_a_banned_helper() -> None:
    assert policy({ALIAS: "torch.softmax"}).aliases == {ALIAS: "torch.softmax"}
    assert Policy().aliases == {}


@pytest.mark.parametrize(
    ("aliases", "allowed", "message"),
    [
        ({ALIAS: "torch.exp"}, (), "'torch.exp' is banned by no rule"),
        ({ALIAS: "torch.my_softmax"}, ("torch.my_*",), "'torch.my_softmax' is allowed"),
        ({ALIAS: "torch.softmax", "a.b": ALIAS}, (), f"'{ALIAS}' is banned by no rule"),
        ({"torch._softmax": "torch.softmax", "a.b": "torch._softmax"}, (), "is an alias itself"),
        ({"aten::_softmax": "torch.softmax"}, (), "pattern"),
        ({ALIAS: "softmax"}, (), "pattern"),
        ([ALIAS], (), "dictionary"),
    ],
)
def test_an_alias_of_anything_else_is_refused(aliases: Any, allowed: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        policy(aliases, allowed)
    assert message in str(raised.value)
