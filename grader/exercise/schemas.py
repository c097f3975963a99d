"""JSON Schemas of the YAML files, made from the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from grader.exercise.models import Case, Exercise, Policy, RandomCases

SCHEMAS: Mapping[str, TypeAdapter[Any]] = {
    "exercise": TypeAdapter(Exercise),
    "cases": TypeAdapter(list[Case | RandomCases]),
    "policy": TypeAdapter(Policy),
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one kind of file. Raises KeyError for an unknown name."""
    schema = SCHEMAS[name].json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": f"grader {name}"}
