"""Rows as JSON objects: every type there and back, missing fields, errors, JSON schemas."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Instant, ProgramError, Row, Types
from penstock.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from penstock.connectors.formats.json_schema_types import type_of_json_schema

PERSON = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def reader(row_type: Any = PERSON) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema.builder().type_info(row_type).build()


def writer(row_type: Any = PERSON) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(row_type).build()


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Types.INT(), -3, "-3"),
        (Types.BIG_INT(), 10**30, str(10**30)),
        (Types.DOUBLE(), 1.5, "1.5"),
        (Types.BIG_DEC(), Decimal("0.10000000000000000000001"), "0.10000000000000000000001"),
        (Types.BOOLEAN(), True, "true"),
        (Types.STRING(), 'ü "x"\n', json.dumps('ü "x"\n', ensure_ascii=False)),
        (Types.SQL_DATE(), datetime.date(2024, 5, 1), '"2024-05-01"'),
        (Types.SQL_TIME(), datetime.time(12, 30), '"12:30:00"'),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC), '"2024-05-01T12:00:00+00:00"'),
        (Types.INSTANT(), Instant(1, 500_000_000), '"1970-01-01T00:00:01.500000Z"'),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", '"AP8="'),
        (Types.LIST(Types.INT()), [1, None, 3], "[1,null,3]"),
        (Types.OBJECT_ARRAY(Types.STRING()), ["a"], '["a"]'),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, '{"a":1}'),
        (Types.MAP(Types.INT(), Types.STRING()), {1: "a"}, '{"1":"a"}'),
        (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a"), '[1,"a"]'),
        (PERSON, Row(id=1, name="Ann"), '{"id":1,"name":"Ann"}'),
        (Types.PICKLED_BYTE_ARRAY(), {"any": [1.5]}, '{"any": [1.5]}'),
        (Types.STRING(), None, "null"),
    ],
)
def test_every_type_there_and_back(kind: Any, value: Any, text: str) -> None:
    row_type = Types.ROW_NAMED(["field"], [kind])
    message = writer(row_type).serialize(Row(field=value))
    assert message.decode() == f'{{"field":{text}}}'
    assert reader(row_type).deserialize(message) == Row(field=value)


def test_missing_fields_are_none_and_others_left_out() -> None:
    assert reader().deserialize(b'{"id": 1, "age": 5}') == Row(id=1, name=None)
    strict = JsonRowDeserializationSchema.builder().type_info(PERSON).fail_on_missing_field().build()
    assert strict.deserialize(b'{"id": 1, "name": null}') == Row(id=1, name=None)
    with pytest.raises(ValueError, match="'name' is missing"):
        strict.deserialize(b'{"id": 1}')


@pytest.mark.parametrize(
    "message", [b"nonsense", b"[1]", b'{"id": 1.5}', b'{"id": true}', b'{"id": "x"}', b'{"id": [1]}', b"\xff"]
)
def test_messages_that_do_not_fit(message: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the parser says
        reader().deserialize(message)
    lenient = JsonRowDeserializationSchema.builder().type_info(PERSON).ignore_parse_errors().build()
    assert lenient.deserialize(message) is None


def test_numbers_in_text_and_text_of_other_values() -> None:
    assert reader().deserialize(b'{"id": "7", "name": {"first": 1}}') == Row(id=7, name='{"first": 1}')
    assert reader(Types.ROW_NAMED(["x"], [Types.DOUBLE()])).deserialize(b'{"x": 2}') == Row(x=2.0)


def test_rows_dicts_and_tuples_are_written() -> None:
    assert writer().serialize({"id": 1}) == b'{"id":1,"name":null}'
    assert writer().serialize((1, "a")) == b'{"id":1,"name":"a"}'


def test_a_json_schema_gives_the_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "price": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "at": {"type": "string", "format": "date-time"},
            "owner": {"$ref": "#/definitions/person"},
            "note": {"type": ["string", "null"]},
        },
        "definitions": {"person": {"type": "object", "properties": {"is_adult": {"type": "boolean"}}}},
    }
    assert type_of_json_schema(json.dumps(schema)) == Types.ROW_NAMED(
        ["id", "price", "tags", "at", "owner", "note"],
        [
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.OBJECT_ARRAY(Types.STRING()),
            Types.SQL_TIMESTAMP(),
            Types.ROW_NAMED(["is_adult"], [Types.BOOLEAN()]),
            Types.STRING(),
        ],
    )
    read = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    row = read.deserialize(b'{"id": 1, "price": 0.1, "tags": ["a"], "owner": {"is_adult": true}}')
    assert row is not None
    assert (row.id, row.price, row.tags, row.owner.is_adult) == (1, Decimal("0.1"), ["a"], True)


def test_wrong_programs_are_refused() -> None:
    with pytest.raises(ProgramError, match="type_info"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ProgramError, match="not both"):
        JsonRowDeserializationSchema.builder().type_info(PERSON).fail_on_missing_field().ignore_parse_errors().build()
    with pytest.raises(ProgramError, match="ROW_NAMED"):
        JsonRowDeserializationSchema.builder().type_info(Types.INT())  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="with_type_info"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(ProgramError, match="no JSON"):
        JsonRowDeserializationSchema.builder().json_schema("{")
    with pytest.raises(ProgramError, match="no type"):
        JsonRowDeserializationSchema.builder().json_schema('{"type": "object", "properties": {"a": {}}}')
    with pytest.raises(ProgramError, match="not in it"):
        JsonRowDeserializationSchema.builder().json_schema('{"type": "object", "properties": {"a": {"$ref": "#/b"}}}')


def test_schemas_travel_to_workers() -> None:
    assert cloudpickle.loads(cloudpickle.dumps(reader())).deserialize(b'{"id": 1}') == Row(id=1, name=None)
    assert cloudpickle.loads(cloudpickle.dumps(writer())).serialize((1, "a")) == b'{"id":1,"name":"a"}'
    assert reader().get_produced_type() == PERSON


@given(st.integers(), st.none() | st.text())
def test_what_is_written_is_read_and_is_json(number: int, text: str | None) -> None:
    message = writer().serialize(Row(id=number, name=text))
    assert json.loads(message) == {"id": number, "name": text}
    assert reader().deserialize(message) == Row(id=number, name=text)
