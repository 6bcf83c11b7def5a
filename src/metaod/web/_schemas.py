"""Schemas of what the API takes and gives, and a check of what it takes.

The same schemas stand in the OpenAPI document. The check knows the keywords that they use.
"""

import json
import math
import re
from typing import Any

from metaod.web._problems import Problem

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


# what schemas are written with


def record(_required: str = "", /, **properties: Schema) -> Schema:
    """Return the schema of an object with these properties and no others."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": _required.split()} if _required else schema


def list_of(items: Schema, **keywords: Any) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": items, **keywords}


def text(**keywords: Any) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", **keywords}


def one_of(*values: str, **keywords: Any) -> Schema:
    """Return the schema of one of several words."""
    return {"type": "string", "enum": list(values), **keywords}


def whole(**keywords: Any) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", **keywords}


def number(**keywords: Any) -> Schema:
    """Return the schema of a number."""
    return {"type": "number", **keywords}


def or_null(schema: Schema) -> Schema:
    """Return a schema that null satisfies as well."""
    extended = {**schema, "type": [schema["type"], "null"]}
    return {**extended, "enum": [*schema["enum"], None]} if "enum" in schema else extended


BOOLEAN: Schema = {"type": "boolean"}
ANY_OBJECT: Schema = {"type": "object"}


# the check


def parse_json(data: bytes) -> Any:
    """Parse a JSON text; Problem if it is none."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        what, remedy = "the body is not JSON", "send one JSON object in UTF-8"
        raise Problem(400, what, remedy=remedy) from error


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def parse_parameter(given: str, schema: Schema, where: str) -> Any:
    """Convert a parameter of the query to its type, and check it."""
    value: Any = given
    if schema["type"] == "integer" and re.fullmatch("-?[0-9]{1,15}", given, re.ASCII):
        value = int(given)
    elif schema["type"] == "boolean" and given in ("true", "false"):
        value = given == "true"
    check(value, schema, where)
    return value


def check(value: Any, schema: Schema, where: str = "the body") -> None:
    """Raise a Problem if a value does not satisfy a schema."""
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not any(_is(value, name) for name in types):
        raise _wrong(where, f"is not {' or '.join(map(_named, types))}")
    if "enum" in schema and value not in schema["enum"]:
        raise _wrong(where, f"is not one of: {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str):
        _check_text(value, schema, where)
    elif isinstance(value, list):
        if len(value) > schema.get("maxItems", math.inf):
            raise _wrong(where, f"has more than {schema['maxItems']} items")
        for place, item in enumerate(value):
            check(item, schema["items"], f"{where}[{place}]")
    elif isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, schema, where)


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _named(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _check_text(value: str, schema: Schema, where: str) -> None:
    if len(value) > schema.get("maxLength", math.inf):
        raise _wrong(where, f"is longer than {schema['maxLength']} characters")
    if len(value) < schema.get("minLength", 0):
        raise _wrong(where, f"is shorter than {schema['minLength']} characters")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise _wrong(where, "holds half a character (a lone surrogate)")


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    properties = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            raise _wrong(where, f"has no {name!r}")
    for name, item in value.items():
        if name not in properties:
            raise _wrong(where, f"has an unknown member {name[:40]!r}")
        check(item, properties[name], name)


def _check_number(value: float, schema: Schema, where: str) -> None:
    if value < schema.get("minimum", -math.inf) or value > schema.get("maximum", math.inf):
        ends = [str(schema[end]) for end in ("minimum", "maximum") if end in schema]
        raise _wrong(where, f"is not in the range {' to '.join(ends)}")
    if value <= schema.get("exclusiveMinimum", -math.inf):
        raise _wrong(where, f"is not above {schema['exclusiveMinimum']}")


def _wrong(where: str, what: str) -> Problem:
    return Problem(422, what, where=where, remedy="see /api/openapi.json")
