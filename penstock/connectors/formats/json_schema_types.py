"""The types that a JSON schema describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.types.catalogue import Types

if TYPE_CHECKING:
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["type_of_json_schema"]

_TIMES: dict[Any, TypeInformation] = {
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "date-time": Types.SQL_TIMESTAMP(),
}


def type_of_json_schema(json_schema: str) -> TypeInformation:
    """Return the type of the values that a JSON schema describes, as Flink reads it: integers and numbers are exact.

    Raises:
        ProgramError: It is no JSON schema, or has parts that have no type here.
    """
    try:
        schema = json.loads(json_schema)
    except ValueError as error:
        message = f"The JSON schema is no JSON: {error}."
        raise ProgramError(message) from error
    return _type(schema, schema)


def _type(schema: Any, root: Any) -> TypeInformation:
    if isinstance(schema, dict) and "$ref" in schema:
        schema = _referred(schema["$ref"], root)
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):  # a value that may also be null
        others = [each for each in kind if each != "null"]
        kind = others[0] if len(others) == 1 else None
    if kind == "object":
        properties = schema.get("properties", {})
        return Types.ROW_NAMED(list(properties), [_type(each, root) for each in properties.values()])
    if kind == "array":
        items = schema.get("items")
        if isinstance(items, list):
            return Types.ROW([_type(each, root) for each in items])
        return Types.OBJECT_ARRAY(_type(items, root))
    if kind == "string":
        if schema.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _TIMES.get(schema.get("format"), Types.STRING())
    simple = {"number": Types.BIG_DEC(), "integer": Types.BIG_INT(), "boolean": Types.BOOLEAN(), "null": Types.VOID()}
    if kind in simple:
        return simple[kind]
    message = f"This part of the JSON schema has no type: {json.dumps(schema):.200}."
    raise ProgramError(message)


def _referred(reference: str, root: Any) -> Any:
    found = root
    for name in reference.removeprefix("#").strip("/").split("/"):
        if not isinstance(found, dict) or name not in found:
            message = f"The JSON schema refers to {reference!r}, which is not in it."
            raise ProgramError(message)
        found = found[name]
    return found
