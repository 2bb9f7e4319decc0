"""Rows as lines of CSV: types, signs, nulls, comments, errors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import ProgramError, Row, Types
from penstock.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

PERSON = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
Reader = CsvRowDeserializationSchema.Builder
Writer = CsvRowSerializationSchema.Builder


def test_a_line_is_a_row() -> None:
    row_type = Types.ROW_NAMED(
        ["id", "price", "is_sold", "sizes"],
        [Types.INT(), Types.BIG_DEC(), Types.BOOLEAN(), Types.LIST(Types.INT())],
    )
    row = Row(id=1, price=Decimal("2.50"), is_sold=True, sizes=[1, 2])
    assert Writer(row_type).build().serialize(row) == b"1,2.50,true,1;2\n"
    assert Reader(row_type).build().deserialize(b"1,2.50,true,1;2\r\n") == row


def test_signs() -> None:
    read = Reader(PERSON).set_field_delimiter(";").set_quote_character("'").set_escape_character("\\").build()
    assert read.deserialize(b"1;'a;b'") == Row(id=1, name="a;b")
    assert read.deserialize(b"1;a\\;b") == Row(id=1, name="a;b")
    write = Writer(PERSON).set_field_delimiter(";").set_quote_character("'").set_line_delimiter("").build()
    assert write.serialize((1, "a;b")) == b"1;'a;b'"
    plain = Writer(PERSON).disable_quote_character().set_escape_character("\\").set_line_delimiter("\r\n").build()
    assert plain.serialize((1, 'a,"b"')) == b'1,a\\,"b"\r\n'


def test_arrays_have_a_delimiter_of_their_own() -> None:
    row_type = Types.ROW_NAMED(["tags"], [Types.OBJECT_ARRAY(Types.STRING())])
    assert Writer(row_type).set_array_element_delimiter("|").build().serialize((["a", "b"],)) == b"a|b\n"
    assert Reader(row_type).set_array_element_delimiter("|").build().deserialize(b"a|b") == Row(tags=["a", "b"])


def test_none_has_a_text() -> None:
    assert Reader(PERSON).build().deserialize(b",") == Row(id=None, name=None)
    assert Writer(PERSON).build().serialize((None, None)) == b",\n"
    assert Reader(PERSON).set_null_literal("NULL").build().deserialize(b"NULL,") == Row(id=None, name="")
    assert Writer(PERSON).set_null_literal("NULL").build().serialize((None, "")) == b"NULL,\n"


def test_comments_are_left_out_where_that_is_allowed() -> None:
    assert Reader(PERSON).set_allow_comments(True).build().deserialize(b"# 1,a") is None
    with pytest.raises(ValueError, match="invalid literal"):
        Reader(PERSON).build().deserialize(b"# 1,a")


@pytest.mark.parametrize("message", [b"1", b"1,a,b", b"x,a", b'1,"a', b"1,a\n2,b", b"", b"1,\xff"])
def test_lines_that_do_not_fit(message: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the parser says
        Reader(PERSON).build().deserialize(message)
    assert Reader(PERSON).set_ignore_parse_errors(True).build().deserialize(message) is None


def test_wrong_programs_are_refused() -> None:
    with pytest.raises(ProgramError, match="rows"):
        Reader(Types.INT())
    with pytest.raises(ProgramError, match="single characters"):
        Reader(PERSON).set_field_delimiter("ab").build()
    with pytest.raises(ProgramError, match="cannot be read"):
        Reader(Types.ROW([Types.MAP(Types.STRING(), Types.INT())])).build()


def test_schemas_travel_to_workers() -> None:
    read: Any = cloudpickle.loads(cloudpickle.dumps(Reader(PERSON).build()))
    assert read.deserialize(b"1,a") == Row(id=1, name="a")
    assert read.get_produced_type() == PERSON


@given(st.integers(), st.text(min_size=1))
def test_what_is_written_is_read(number: int, text: str) -> None:
    message = Writer(PERSON).build().serialize(Row(id=number, name=text))
    assert Reader(PERSON).build().deserialize(message) == Row(id=number, name=text)
