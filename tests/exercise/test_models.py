"""Every slip in an exercise's YAML gives one clear fault: file, line, key, what was found and expected."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from support.known import INFLUENCE
from support.small import CASES, EXERCISE, POLICY, dump_yaml

from grader.errors import Problem
from grader.exercise import yaml_source
from grader.exercise.models import Case, Exercise, Limits, Policy, RandomCases
from grader.exercise.recipes import ArrayChange, Values
from grader.exercise.schemas import SCHEMAS, json_schema
from grader.exercise.source import validate_document

MODELS: dict[str, tuple[TypeAdapter[Any], dict[str, Any]]] = {
    "exercise": (TypeAdapter(Exercise), EXERCISE),
    "influence": (TypeAdapter(Exercise), EXERCISE | {"influence": INFLUENCE}),
    "policy": (TypeAdapter(Policy), POLICY),
    "case": (TypeAdapter(Case), CASES[1]),
    "relation": (TypeAdapter(Case), CASES[3]),
    "batch": (TypeAdapter(RandomCases), CASES[6]),
}
GONE = object()


def faults(adapter: TypeAdapter[Any], text: str) -> list[Problem]:
    document = yaml_source.parse(text, "f.yaml")
    problems: list[Problem] = []
    model = validate_document(adapter, document, document.data, (), problems)
    assert (model is None) == bool(problems)
    return problems


def changed(kind: str, path: tuple[str | int, ...], value: Any) -> str:
    data = copy.deepcopy(MODELS[kind][1])
    place: Any = data
    for part in path[:-1]:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return dump_yaml(data)


@pytest.mark.parametrize("kind", MODELS)
def test_the_sample_is_valid(kind: str) -> None:
    assert faults(MODELS[kind][0], dump_yaml(MODELS[kind][1])) == []


# kind, path, value, the key named, what the message must hold
SLIPS: list[tuple[str, tuple[str | int, ...], Any, str, str]] = [
    ("exercise", ("titel",), "x", "titel", "unknown key 'titel'; did you mean 'title'?"),
    ("exercise", ("zzz",), 1, "zzz", "unknown key 'zzz'; known here: exercise, title"),
    ("exercise", ("title",), GONE, "title", "is missing"),
    ("exercise", ("title",), ["x"], "title", "expected text, found ['x']"),
    ("exercise", ("title",), None, "title", "expected text, found nothing"),
    ("exercise", ("exercise",), "Row Scale", "exercise", "found 'Row Scale'"),
    ("exercise", ("entry",), "row scale", "entry", "found 'row scale'"),
    ("exercise", ("packages",), "numpy", "packages", "expected a list, found 'numpy'"),
    ("exercise", ("dims",), ["N"], "dims", "expected a mapping, found ['N']"),
    ("exercise", ("dims", "N"), 3, "dims.N", "expected text, found 3"),
    (
        "exercise",
        ("dims", "N"),
        "at least 1",
        "dims",
        "the bound of N is 'at least 1'; expected one such as '>= 1'",
    ),
    ("exercise", ("dims", "N"), "<= D", "dims", "the bound of N is '<= D'"),
    ("exercise", ("constraints", 0), "D %", "constraints[0]", "'D %' is no arithmetic expression"),
    ("exercise", ("constraints", 0), "D ** 2 > 1", "constraints[0]", "'D ** 2' is not allowed"),
    ("exercise", ("constraints", 0), "d % factor == 0", "constraints[0]", "uses 'd'"),
    (
        "exercise",
        ("parameters", "x", "shape"),
        ["N", "Q"],
        "parameters.x.shape",
        "uses 'Q'; known here: N, D, K",
    ),
    ("exercise", ("parameters", "x", "values"), GONE, "parameters.x", "expected values beside shape"),
    (
        "exercise",
        ("parameters", "x", "shape"),
        GONE,
        "parameters.x",
        "expected shape and values, or one of scalar, value, generator, mapping",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"shape": None},
        "parameters.x",
        "expected shape and values, or one of",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"scalar": None},
        "parameters.x",
        "expected shape and values, or one of",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"scalar": 1, "values": "ones"},
        "parameters.x.values",
        "values goes with shape, not with scalar",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"generator": "torch"},
        "parameters.x.generator",
        "'numpy', found 'torch'",
    ),
    ("exercise", ("parameters", "x"), {"mapping": {}}, "parameters.x.mapping", "is a mapping of nothing"),
    (
        "exercise",
        ("parameters", "x"),
        {"mapping": {"a": {"mapping": {"b": {"scalar": 1}}}}},
        "parameters.x.mapping.a",
        "is a mapping in a mapping",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"mapping": {"a": {"shape": ["Q"], "values": "ones"}}},
        "parameters.x.mapping.a.shape",
        "uses 'Q'; known here: N, D, K, factor",
    ),
    (
        "exercise",
        ("parameters", "x"),
        {"value": {"a": 1}},
        "parameters.x.value",
        "expected a number, a text, true, false, nothing or a list, found {'a': 1}",
    ),
    ("exercise", ("entry",), [], "entry", "names nothing that a submission has to define"),
    ("exercise", ("entry",), "class", "entry", "'class' is a word of Python's, which nothing can be called"),
    ("exercise", ("entry",), ["a", "b", "a"], "entry", "names 'a' twice"),
    ("exercise", ("entry",), ["a", "b"], "entry", "names several, so calls are needed, or a driver"),
    ("exercise", ("entry",), 3, "entry", "expected text, or a list, found 3"),
    ("exercise", ("dims",), GONE, "constraints[0]", "uses 'D'; dims names none"),
    ("exercise", ("parameters", "x", "dtype"), "float16", "parameters.x.dtype", "found 'float16'"),
    ("exercise", ("parameters", "x", "vals"), 1, "parameters.x.vals", "did you mean 'values'?"),
    (
        "exercise",
        ("parameters", "x", "parts"),
        {"axis": "a", "names": []},
        "parameters.x.parts.axis",
        "a whole number",
    ),
    (
        "exercise",
        ("parameters", "factor", "scalar"),
        "facto",
        "parameters.factor.scalar",
        "did you mean 'factor'?",
    ),
    ("exercise", ("parameters", "x"), 3, "parameters.x", "expected a mapping with the keys shape, values"),
    ("exercise", ("returns", "shape"), ["2 * M", "K"], "returns.shape[0]", "uses 'M'"),
    (
        "exercise",
        ("returns", "dtype"),
        ["float16"],
        "returns.dtype[0]",
        "'float64', 'float32', 'int64', 'int32' or 'bool', found 'float16'",
    ),
    (
        "exercise",
        ("returns", "container"),
        "set",
        "returns.container",
        "'array', 'number', 'integer', 'boolean', 'text', 'none', 'list', 'tuple' or 'dict', found 'set'",
    ),
    ("exercise", ("returns", "container"), "list", "returns.dtype", "the container list takes no 'dtype'"),
    ("exercise", ("returns", "shape"), GONE, "returns.shape", "the container array needs 'shape'"),
    ("exercise", ("returns",), None, "returns", "a mapping with the keys container, shape, dtype, of"),
    ("exercise", ("returns",), GONE, "returns", "is missing"),
    ("exercise", ("returns",), {"container": "list"}, "returns", "expected exactly one of of, items"),
    ("exercise", ("returns",), {"container": "dict"}, "returns", "expected either items, or keys and values"),
    (
        "exercise",
        ("returns",),
        {"container": "list", "of": {"contaner": "number"}},
        "returns.of.contaner",
        "did you mean 'container'?",
    ),
    (
        "exercise",
        ("returns",),
        {"container": "dict", "items": {"a": {"shape": ["N", "2 * M"]}}},
        "returns.items.a.shape[1]",
        "uses 'M'",
    ),
    (
        "exercise",
        ("returns",),
        {"container": "dict", "items": [{"container": "number"}]},
        "returns.items",
        "expected a mapping of forms",
    ),
    (
        "exercise",
        ("returns",),
        {"container": "tuple", "items": [{"container": "number"}, {"container": "lst"}]},
        "returns.items[1].container",
        "found 'lst'",
    ),
    (
        "exercise",
        ("calls",),
        {"row_scale": {"parameters": {}, "returns": {"container": "none"}}},
        "parameters",
        "stands beside calls; give parameters of each call instead",
    ),
    (
        "exercise",
        ("limits", "memory"),
        "1 GB",
        "limits.memory",
        "a size such as 64 KiB or 1 GiB, found '1 GB'",
    ),
    (
        "exercise",
        ("limits", "memory"),
        "1GiB",
        "limits.memory",
        "a size such as 64 KiB or 1 GiB, found '1GiB'",
    ),
    ("exercise", ("limits", "memory"), True, "limits.memory", "expected a number, found true"),
    ("exercise", ("limits", "output"), 0, "limits.output", "found 0"),
    ("exercise", ("limits", "seconds"), "5 s", "limits.seconds", "expected a number, found '5 s'"),
    ("exercise", ("limits", "seconds"), 0, "limits.seconds", "greater than 0, found 0"),
    (
        "exercise",
        ("limits", "seconds_per_call"),
        True,
        "limits.seconds_per_call",
        "expected a number, found true",
    ),
    ("exercise", ("limits", "times_reference"), 1, "limits.times_reference", "greater than 1, found 1"),
    ("exercise", ("limits", "times_reference"), "ten", "limits.times_reference", "a number, found 'ten'"),
    ("exercise", ("limits", "times_reference"), True, "limits.times_reference", "a number, found true"),
    ("exercise", ("work", "expression"), "N +", "work.expression", "is no arithmetic expression"),
    ("exercise", ("work", "per_case"), 0, "work.per_case", "greater than 0"),
    ("exercise", ("clauses", "Product"), {"title": "x"}, "clauses.Product", "found 'Product'"),
    ("exercise", ("clauses", "product", "titel"), "x", "clauses.product.titel", "did you mean 'title'?"),
    (
        "exercise",
        ("clauses", "product"),
        "x",
        "clauses.product",
        "expected a mapping with the keys title, text",
    ),
    ("policy", ("efect",), {}, "efect", "did you mean 'effect'?"),
    ("policy", ("effect",), {"cap": 1, "deduct": 2}, "effect", "exactly one of no_points, deduct, cap, note"),
    ("policy", ("effect",), {}, "effect", "exactly one of"),
    ("policy", ("effect",), {"no_points": False}, "effect", "says nothing; choose an effect"),
    (
        "policy",
        ("effect",),
        {"note": "yes"},
        "effect.note",
        "expected true or false, found 'yes'; write true",
    ),
    ("policy", ("effect",), {"deduct": -1}, "effect.deduct", "found -1"),
    ("policy", ("rules", 0, "why"), GONE, "rules[0].why", "is missing"),
    ("policy", ("rules", 0, "instead"), " ", "rules[0].instead", "found ' '"),
    ("policy", ("rules", 0, "looks"), " ", "rules[0].looks", "found ' '"),
    ("policy", ("rules", 0, "id"), "Bad Id", "rules[0].id", "found 'Bad Id'"),
    ("policy", ("rules", 0, "names"), "numpy.dot", "rules[0].names", "expected a list, found 'numpy.dot'"),
    ("case", ("id",), "Ones Row", "id", "found 'Ones Row'"),
    ("case", ("id",), GONE, "id", "is missing"),
    ("case", ("pionts",), 2, "pionts", "unknown key 'pionts'; did you mean 'points'?"),
    ("case", ("points",), "two", "points", "expected a number, found 'two'"),
    ("case", ("points",), True, "points", "expected a number, found true"),
    ("case", ("points",), -1, "points", "greater than or equal to 0, found -1"),
    ("case", ("points",), float("nan"), "points", "found nan"),
    ("case", ("visibility",), "secret", "visibility", "'public' or 'hidden', found 'secret'"),
    ("case", ("dims", "N"), "two", "dims.N", "expected a whole number, found 'two'"),
    ("case", ("dims", "N"), True, "dims.N", "expected a number, found true"),
    ("case", ("dims", "N"), 1.5, "dims.N", "found 1.5"),
    ("case", ("dims",), [1], "dims", "expected a mapping, found [1]"),
    ("case", ("seed",), -1, "seed", "found -1"),
    ("case", ("seed",), "x", "seed", "expected a whole number, found 'x'"),
    ("case", ("tolerance",), 0, "tolerance", "greater than 0, found 0"),
    ("case", ("tolerance",), 1, "tolerance", "less than 1, found 1"),
    ("case", ("requires",), "ones_row", "requires", "expected a list, found 'ones_row'"),
    (
        "case",
        ("check",),
        "comapre",
        "check",
        "or 'finite', or a mapping with the key relation, raises, holds or statistic, found 'comapre'",
    ),
    ("case", ("check",), None, "check", "relation, raises, holds or statistic, found nothing"),
    ("case", ("check",), ["compare"], "check", "relation, raises, holds or statistic, found ['compare']"),
    ("case", ("check",), {}, "check", "or a mapping with the key relation, raises, holds or statistic"),
    (
        "case",
        ("check",),
        {"zzz": 1},
        "check",
        "or a mapping with the key relation, raises, holds or statistic",
    ),
    ("case", ("check",), {"relatoin": "equals"}, "check.relatoin", "did you mean 'relation'?"),
    ("case", ("check",), {"rasies": "ValueError"}, "check.rasies", "did you mean 'raises'?"),
    ("case", ("check",), {"raises": []}, "check.raises", "expected at least 1 item, found []"),
    ("case", ("check",), {"raises": 3}, "check.raises", "expected text, or a list, found 3"),
    ("case", ("check",), {"raises": "no name"}, "check.raises", "found 'no name'"),
    ("case", ("check",), {"raises": "X", "mentions": [""]}, "check.mentions[0]", "at least 1 character"),
    ("case", ("check",), {"raises": "X", "mentoins": ["a"]}, "check.mentoins", "did you mean 'mentions'?"),
    ("case", ("check",), {"holds": []}, "check.holds", "expected at least 1 item, found []"),
    (
        "case",
        ("check",),
        {"relation": "equals", "change": {"x": {"fill": 1}}, "rows": []},
        "check.rows",
        "expected at least 1 item, found []",
    ),
    ("case", ("check",), {"holds": [{"claim": "answer > 0"}]}, "check.holds[0].says", "is missing"),
    (
        "case",
        ("check",),
        {"statistic": "binomial", "says": "x", "counts": "answer", "against": 0.5},
        "check.counts",
        "a binomial statistic takes no 'counts'",
    ),
    (
        "case",
        ("check",),
        {
            "statistic": "binomial",
            "says": "x",
            "successes": "answer",
            "trials": "9",
            "probability": 0.5,
            "categories": ["a", "b"],
            "against": 0.6,
        },
        "check.categories",
        "a binomial statistic takes no 'categories'",
    ),
    (
        "case",
        ("check",),
        {"statistic": "multinomial", "says": "x", "counts": "answer", "against": 0.5},
        "check.probabilities",
        "a multinomial statistic needs 'probabilities'",
    ),
    ("case", ("arrays",), ["x"], "arrays", "expected a mapping, found ['x']"),
    (
        "case",
        ("arrays", "x", "values"),
        "zeroes",
        "arrays.x.values",
        "'zeros', 'ones' or 'identity', or a number",
    ),
    (
        "case",
        ("arrays", "x", "values"),
        [1, 2],
        "arrays.x.values",
        "'zeros', 'ones' or 'identity', or a number",
    ),
    ("case", ("arrays", "x", "values"), {"norml": {}}, "arrays.x.values.norml", "did you mean 'normal'?"),
    (
        "case",
        ("arrays", "x", "values"),
        {"normal": {"scal": 1}},
        "arrays.x.values.normal.scal",
        "mean 'scale'?",
    ),
    (
        "case",
        ("arrays", "x", "values"),
        {"normal": {"scale": [1]}},
        "arrays.x.values.normal.scale",
        "a number",
    ),
    ("case", ("arrays", "x", "values"), {"bernoulli": 2}, "arrays.x.values.bernoulli", "found 2"),
    ("case", ("arrays", "x", "values"), {"integers": {}}, "arrays.x.values.integers.below", "is missing"),
    ("case", ("arrays", "x", "values"), {}, "arrays.x.values", "exactly one of integers, bernoulli"),
    ("case", ("arrays", "x", "values"), {"constant": 1, "literal": 2}, "arrays.x.values", "exactly one of"),
    ("case", ("arrays", "x", "set"), {"a": {"scal": 2}}, "arrays.x.set.a.scal", "did you mean 'scale'?"),
    ("case", ("arrays", "x", "layout"), "f", "arrays.x.layout", "'c', 'fortran' or 'strided', found 'f'"),
    ("case", ("arrays", "x", "dtype"), "float", "arrays.x.dtype", "found 'float'"),
    (
        "case",
        ("arrays", "x", "read_only"),
        "no",
        "arrays.x.read_only",
        "expected true or false, found 'no'; write false",
    ),
    ("case", ("arrays", "x", "read_only"), 1, "arrays.x.read_only", "expected true or false, found 1"),
    (
        "case",
        ("arrays", "x", "edits"),
        [{"at": [0, "all"], "to": 1}],
        "arrays.x.edits[0].at[1]",
        "or '*', found 'all'",
    ),
    ("case", ("arrays", "x", "edits"), [{"at": [0]}], "arrays.x.edits[0].to", "is missing"),
    ("influence", ("influence", "argumnet"), "x", "influence.argumnet", "did you mean 'argument'?"),
    ("influence", ("influence", "argument"), GONE, "influence.argument", "is missing"),
    ("influence", ("influence", "dims"), GONE, "influence.dims", "is missing"),
    ("influence", ("influence", "dims", "N"), "x", "influence.dims.N", "found 'x'"),
    ("influence", ("influence", "seed"), -1, "influence.seed", "found -1"),
    ("influence", ("influence", "views"), {}, "influence.views", "expected a list"),
    ("influence", ("influence", "views", 0, "row"), [0], "influence.views[0].row", "did you mean 'rows'?"),
    (
        "influence",
        ("influence", "views", 0, "rows"),
        1,
        "influence.views[0].rows",
        "expected a list, found 1",
    ),
    (
        "influence",
        ("influence", "views", 0, "change", "w"),
        {"fil": 1},
        "influence.views[0].change.w.fil",
        "did you mean 'fill'?",
    ),
    ("relation", ("check", "relation"), "equal", "check.relation", "'equals', 'differs'"),
    ("relation", ("check", "chnage"), {}, "check.chnage", "did you mean 'change'?"),
    ("relation", ("check", "change"), GONE, "check.change", "the relation equals needs 'change'"),
    ("relation", ("check", "argument"), "x", "check.argument", "the relation equals takes no 'argument'"),
    ("relation", ("check", "at_least"), 1, "check.at_least", "the relation equals takes no 'at_least'"),
    ("relation", ("check", "rows"), [0], "check.other_rows", "names 2 rows, rows names 1"),
    (
        "relation",
        ("check", "change", "x"),
        {},
        "check.change.x",
        "exactly one of take, edits, fill, values, scalar",
    ),
    (
        "relation",
        ("check", "change", "x"),
        {"fill": "a"},
        "check.change.x.fill",
        "expected a number, found 'a'",
    ),
    (
        "relation",
        ("check", "change", "x", "take", "indices"),
        1,
        "check.change.x.take.indices",
        "expected a list",
    ),
    ("batch", ("random", "count"), 0, "random.count", "greater than or equal to 1, found 0"),
    ("batch", ("random", "count"), 501, "random.count", "found 501"),
    ("batch", ("random", "seed"), GONE, "random.seed", "is missing"),
    ("batch", ("random", "dims", "N"), {"from": 1, "too": 2}, "random.dims.N.too", "did you mean 'to'?"),
    (
        "batch",
        ("random", "dims", "N", "from"),
        "a",
        "random.dims.N.from",
        "expected a whole number, found 'a'",
    ),
    ("batch", ("random", "dtypes"), ["float16"], "random.dtypes[0]", "found 'float16'"),
    ("batch", ("random", "layouts"), ["C"], "random.layouts[0]", "found 'C'"),
    ("batch", ("dims",), {"N": 1}, "dims", "unknown key 'dims'"),
]


@pytest.mark.parametrize(
    ("kind", "path", "value", "key", "said"), SLIPS, ids=[f"{s[0]}-{s[3]}-{i}" for i, s in enumerate(SLIPS)]
)
def test_a_slip_gives_one_fault_at_its_place(
    kind: str, path: tuple[str | int, ...], value: Any, key: str, said: str
) -> None:
    text = changed(kind, path, value)
    problems = faults(MODELS[kind][0], text)
    assert len(problems) == 1, "\n".join(map(str, problems))
    problem = problems[0]
    assert problem.key == key
    assert said in problem.message
    lines = yaml_source.parse(text, "f.yaml").lines
    shown = {yaml_source.show_path(p): line for p, line in lines.items()}
    while key not in shown:  # of a key that is missing, the line of what lacks it
        key = key.rpartition(".")[0]
    assert problem.line == shown[key]
    for inner in ("pydantic", "input should", "Value error", "function-after", "Literal[", "valid_"):
        assert inner not in problem.message


def test_several_slips_are_told_at_once() -> None:
    text = "id: A\nclause: product\npoints: -1\ndims: {N: x, D: 2}\nhintt: x\n"
    problems = faults(TypeAdapter(Case), text.replace("hintt: x\n", ""))
    assert [(p.line, p.key) for p in problems] == [(1, "id"), (3, "points"), (4, "dims.N")]


@pytest.mark.parametrize("data", ["x", "3", "[1]", "null"])
@pytest.mark.parametrize("kind", MODELS)
def test_what_is_no_mapping_is_told_its_keys(kind: str, data: str) -> None:
    (problem,) = faults(MODELS[kind][0], data)
    assert problem.message.startswith("expected a mapping with the keys ")


@pytest.mark.parametrize(
    ("text", "number"),
    [("64 KiB", 65536), ("1 GiB", 2**30), ("3 MiB", 3 << 20), ("17 B", 17), (" 2 KiB ", 2048), (1000, 1000)],
)
def test_sizes_are_read_in_their_units(text: Any, number: int) -> None:
    assert Limits(memory=text).memory == number


@pytest.mark.parametrize("text", ["1.5 GiB", "-1 KiB", "KiB", "1 kb", "", "1 GiB extra"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="expected a size such as 64 KiB"):
        Limits(memory=text)


def test_flags_are_true_or_false_only() -> None:
    assert ArrayChange(read_only=True).read_only is True
    for value in ("true", 1, 0, "yes", "on", None, []):
        with pytest.raises(ValidationError):
            Policy.model_validate({"effect": {"no_points": value}})


def test_a_literal_of_zero_counts_as_given() -> None:
    assert Values.model_validate({"literal": 0}).literal == 0
    assert Values.model_validate({"constant": 0}).constant == 0


def test_every_kind_of_file_has_a_json_schema_that_lists_its_keys() -> None:
    for name in SCHEMAS:
        schema = json_schema(name)
        assert schema["$schema"].startswith("https://json-schema.org/")
        assert schema["title"] == f"grader {name}"
    assert "from" in str(json_schema("cases"))
    assert "from_" not in str(json_schema("cases"))
    with pytest.raises(KeyError):
        json_schema("nothing")


def test_the_schema_of_the_exercise_file_knows_every_key_that_the_model_takes(tmp_path: Path) -> None:
    schema = json_schema("exercise")
    assert set(schema["properties"]) == set(Exercise.model_fields)
    assert schema["additionalProperties"] is False


def test_an_influence_map_needs_an_argument_and_dims_alone() -> None:
    least = {"argument": "x", "dims": INFLUENCE["dims"]}
    made = Exercise.model_validate(EXERCISE | {"influence": least}).influence
    assert made is not None
    assert (made.argument, made.seed, made.arrays) == ("x", None, {})
    (view,) = made.views
    assert (view.change, view.rows) == ({}, None)
    assert Exercise.model_validate(EXERCISE).influence is None
