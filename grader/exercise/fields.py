"""What the models of an exercise's YAML files are made of.

Every model refuses unknown keys with the near miss named.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from grader.exercise.near import did_you_mean


def fault(kind: str, said: str, **context: Any) -> PydanticCustomError:
    """An error whose text is complete; pydantic's own templates know no formatting."""
    return PydanticCustomError(kind, "{said}", {"said": said, **context})


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Expression = str | int | float
SIZE = r"^[0-9]+ (B|KiB|MiB|GiB)$"
Dtype = Literal["float64", "float32", "int64", "int32", "uint8", "bool"]
Layout = Literal["c", "fortran", "strided"]


class Model(BaseModel):
    """A frozen mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise fault("mapping", f"expected a mapping with the keys {', '.join(cls._keys())}")
        for key in data:
            if key not in cls._keys():
                hint = did_you_mean(str(key), cls._keys())
                raise fault("unknown_key", f"unknown key {key!r}{hint}", key=key)
        return data

    @classmethod
    def _keys(cls) -> list[str]:
        return [field.alias or name for name, field in cls.model_fields.items()]


def number_only(value: Any) -> Any:
    """A flag is no number: ``points: true`` is a slip, not one point."""
    if isinstance(value, bool):
        raise fault("number", f"expected a number, found {str(value).lower()}")
    return value


def _flag_only(value: Any) -> Any:
    if not isinstance(value, bool):
        said = f"; write {'true' if value in ('yes', 'on', 'y') else 'false'}" if value in _SAID else ""
        raise fault("flag", f"expected true or false, found {value!r}{said}")
    return value


_SAID = ("yes", "no", "on", "off", "y", "n")
Points = Annotated[float, BeforeValidator(number_only), Field(ge=0, le=1000)]
Flag = Annotated[bool, BeforeValidator(_flag_only)]
Text = Annotated[str, Field(pattern=r"\S")]
Whole = Annotated[int, BeforeValidator(number_only)]
Count = Annotated[int, BeforeValidator(number_only), Field(ge=0)]


def _plain_only(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_only(item) for item in value]
    if value is not None and not isinstance(value, bool | int | float | str):
        raise fault("plain", f"expected a number, a text, true, false, nothing or a list, found {value!r}")
    return value


Plain = Annotated[Any, BeforeValidator(_plain_only)]


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        number, _, unit = value.strip().partition(" ")
        factors = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
        if number.isdigit() and unit in factors:
            return int(number) * factors[unit]
        raise fault("bytes", f"expected a size such as 64 KiB or 1 GiB, found {value!r}")
    return number_only(value)


Bytes = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=1),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": SIZE}]}),
]
