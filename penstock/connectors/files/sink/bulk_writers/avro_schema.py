"""Avro schemas as pyarrow knows them."""

from __future__ import annotations

from typing import Any

from penstock.errors import ProgramError

__all__ = ["arrow_schema_of_avro"]


def arrow_schema_of_avro(definition: dict[str, Any]) -> Any:
    """Return the pyarrow schema of the records of an Avro schema.

    Raises:
        ProgramError: A field has a type that columns cannot have.
    """
    import pyarrow

    return pyarrow.schema(_field_type(definition, {}))


def _field_type(definition: Any, named: dict[str, Any]) -> Any:
    """Return the type of a definition; types that have names may be mentioned again by them."""
    if isinstance(definition, str):
        return named[definition] if definition in named else _primitive(definition)
    if isinstance(definition, list):
        return _union(definition, named)
    made = _logical(definition) or _complex(definition, named)
    if "name" in definition and isinstance(definition["type"], str):
        named[definition["name"]] = made
        named[f"{definition.get('namespace', '')}.{definition['name']}"] = made
    return made


def _primitive(name: str) -> Any:
    import pyarrow

    known = {
        "null": pyarrow.null(),
        "boolean": pyarrow.bool_(),
        "int": pyarrow.int32(),
        "long": pyarrow.int64(),
        "float": pyarrow.float32(),
        "double": pyarrow.float64(),
        "bytes": pyarrow.binary(),
        "string": pyarrow.string(),
    }
    if name not in known:
        message = f"The Avro schema has the type {name!r}, which is not defined before it is used."
        raise ProgramError(message)
    return known[name]


def _union(branches: list[Any], named: dict[str, Any]) -> Any:
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        message = f"A column has one type; the union {branches!r:.200} has {len(others)} besides null."
        raise ProgramError(message)
    return _field_type(others[0], named)


def _logical(definition: dict[str, Any]) -> Any:
    import pyarrow

    kind = definition.get("logicalType")
    if kind == "decimal":
        return pyarrow.decimal128(definition["precision"], definition.get("scale", 0))
    return {
        "date": pyarrow.date32(),
        "time-millis": pyarrow.time32("ms"),
        "time-micros": pyarrow.time64("us"),
        "timestamp-millis": pyarrow.timestamp("ms", tz="UTC"),
        "timestamp-micros": pyarrow.timestamp("us", tz="UTC"),
        "local-timestamp-millis": pyarrow.timestamp("ms"),
        "local-timestamp-micros": pyarrow.timestamp("us"),
    }.get(str(kind))


def _complex(definition: dict[str, Any], named: dict[str, Any]) -> Any:
    import pyarrow

    kind = definition["type"]
    if kind == "record":
        fields = [(field["name"], _field_type(field["type"], named)) for field in definition["fields"]]
        return pyarrow.struct(fields)
    if kind == "array":
        return pyarrow.list_(_field_type(definition["items"], named))
    if kind == "map":
        return pyarrow.map_(pyarrow.string(), _field_type(definition["values"], named))
    if kind == "enum":
        return pyarrow.string()
    if kind == "fixed":
        return pyarrow.binary(definition["size"])
    return _field_type(kind, named)
