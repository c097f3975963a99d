"""What a call returns is said in YAML, told in words, and known by its sizes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from grader.exercise.forms import Form, words

NUMBER: dict[str, Any] = {"container": "number"}
ARRAY: dict[str, Any] = {"shape": ["N", "2 * D"], "dtype": ["int64"]}
SOUND: dict[str, tuple[dict[str, Any], str]] = {
    "array": (ARRAY, "an array of shape (N, 2 * D)"),
    "vector": ({"shape": ["M"]}, "an array of shape (M,)"),
    "no axes": ({"shape": []}, "an array of shape ()"),
    "number": (NUMBER, "a number"),
    "integer": ({"container": "integer"}, "a whole number"),
    "boolean": ({"container": "boolean"}, "True or False"),
    "text": ({"container": "text"}, "a text"),
    "none": ({"container": "none"}, "None"),
    "list": ({"container": "list", "of": NUMBER, "length": "K"}, "a list with a number at each place"),
    "pair": ({"container": "tuple", "items": [NUMBER, ARRAY]}, "a tuple of 2 items"),
    "record": (
        {"container": "dict", "items": {"loss": NUMBER, "rows": ARRAY}},
        "a dictionary with the keys loss, rows",
    ),
    "table": (
        {"container": "dict", "keys": "integer", "values": {"container": "list", "of": NUMBER}},
        "a dictionary of whole numbers to a list with a number at each place each",
    ),
    "counts": (
        {"container": "dict", "keys": "text", "values": NUMBER},
        "a dictionary of texts to a number each",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_form_is_told_in_words_and_comes_back_from_a_pack(name: str) -> None:
    data, said = SOUND[name]
    form = Form.model_validate(data)
    assert words(form) == said
    assert form.is_array == ("container" not in data)
    # As `grader.exercise.build` writes it into a pack.
    assert Form.model_validate(form.model_dump(exclude_defaults=True, exclude_none=True)) == form


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, "the container array needs 'shape'"),
    ({"container": "number", "shape": []}, "the container number takes no 'shape'"),
    ({"container": "list"}, "expected exactly one of of, items"),
    ({"container": "list", "of": NUMBER, "items": [NUMBER]}, "expected exactly one of of, items"),
    ({"container": "list", "items": {"a": NUMBER}}, "expected a list of forms"),
    ({"container": "tuple", "items": [NUMBER], "length": 1}, "length goes with of; items are counted"),
    ({"container": "dict", "of": NUMBER}, "the container dict takes no 'of'"),
    ({"container": "dict", "values": NUMBER}, "expected either items, or keys and values"),
    ({"container": "dict", "keys": "text"}, "expected either items, or keys and values"),
    (
        {"container": "dict", "keys": "text", "items": {"a": NUMBER}},
        "expected either items, or keys and values",
    ),
    ({"container": "dict", "items": [NUMBER]}, "expected a mapping of forms"),
    ({"shape": ["N"], "also": ["list"]}, "the container array takes no 'also'"),
]


@pytest.mark.parametrize(("data", "said"), FAULTS, ids=[str(n) for n in range(len(FAULTS))])
def test_keys_that_do_not_fit_are_told(data: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(data)
    assert [error["msg"] for error in caught.value.errors()] == [said]


def test_sizes_are_told_with_their_places_and_free_names_are_those_that_are_no_dims() -> None:
    form = Form.model_validate(
        {
            "container": "dict",
            "items": {
                "rows": {"shape": ["M", "N + 1", 3]},
                "parts": {"container": "list", "length": "K", "of": {"shape": ["M"]}},
                "pair": {"container": "tuple", "items": [NUMBER, {"shape": ["N"]}]},
            },
        }
    )
    assert list(form.sizes()) == [
        (("items", "rows", "shape", 0), "M"),
        (("items", "rows", "shape", 1), "N + 1"),
        (("items", "rows", "shape", 2), 3),
        (("items", "parts", "length"), "K"),
        (("items", "parts", "of", "shape", 0), "M"),
        (("items", "pair", "items", 1, "shape", 0), "N"),
    ]
    assert form.free({"N": 1}) == {"M", "K"}
    assert form.free(["N", "M", "K"]) == set()
