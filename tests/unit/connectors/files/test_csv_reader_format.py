"""CSV files by a schema: types, headers, comments, nulls, rows left out."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock import MalformedRecordError, ProgramError, Row, Types
from penstock.connectors.files.formats.csv_reader_format import CsvReaderFormat
from penstock.connectors.files.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from penstock.connectors.files.formats.stream import StreamFormat
from tests.unit.connectors.files.reading import Collected, input_file, records_of, resumed_everywhere


def schema() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_string_column("name").add_number_column("count")


def read(builder: CsvSchemaBuilder, path: Path, text: str, **settings: Any) -> list[Any]:
    path.write_text(text)
    return records_of(CsvReaderFormat.for_schema(builder.build()), input_file(path, **settings))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


def test_rows_with_the_types_of_the_schema(path: Path) -> None:
    columns = (
        CsvSchema.builder()
        .add_string_column("name")
        .add_number_column("id", Types.LONG())
        .add_number_column("price", Types.BIG_DEC())
        .add_number_column("weight", Types.DOUBLE())
        .add_boolean_column("is_sold")
        .add_array_column("tags")
        .add_array_column("sizes", "|", Types.INT())
    )
    assert read(columns, path, 'Nuts,1,2.50,1,true,a;b,1|2\n"",2,3,1.5,False,,\n') == [
        Row(name="Nuts", id=1, price=Decimal("2.50"), weight=1.0, is_sold=True, tags=["a", "b"], sizes=[1, 2]),
        Row(name="", id=2, price=Decimal(3), weight=1.5, is_sold=False, tags=[], sizes=[]),
    ]


def test_numbers_without_a_type_are_what_they_look_like(path: Path) -> None:
    assert [row["count"] for row in read(schema(), path, "a,1\nb,1.5\nc,\n")] == [1, 1.5, None]


def test_the_signs_of_the_schema(path: Path) -> None:
    signs = schema().set_column_separator(";").set_quote_char("'").set_escape_char("\\")
    assert [row["name"] for row in read(signs, path, "'a;b';1\nc\\;d;2\n")] == ["a;b", "c;d"]
    assert [row["name"] for row in read(schema().disable_quote_char(), path, '"a,1\n')] == ['"a']


def test_a_header_orders_the_columns(path: Path) -> None:
    assert read(schema().set_use_header(), path, "count,name\n1,a\n") == [Row(name="a", count=1)]


def test_a_strict_header_must_be_that_of_the_schema(path: Path) -> None:
    with pytest.raises(ProgramError, match="must name name, count"):
        read(schema().set_use_header().set_strict_headers(), path, "count,name\n1,a\n")


def test_comments_nulls_and_the_first_row(path: Path) -> None:
    builder = schema().set_allow_comments().set_null_value("NULL").set_skip_first_data_row()
    text = '# made today\nunits,0\na,NULL\n#b,2\n"#c\n# not a comment",3\nNULL,4\n'
    expected = [Row(name="a", count=None), Row(name="#c\n# not a comment", count=3), Row(name=None, count=4)]
    assert read(builder, path, text) == expected
    for run in resumed_everywhere(CsvReaderFormat.for_schema(builder.build()), path):
        assert run == expected


def test_fields_behind_the_last_column(path: Path) -> None:
    rows = read(schema().set_any_property_name("rest"), path, "a,1,x,y\nb,2\n")
    assert rows == [Row(name="a", count=1, rest=["x", "y"]), Row(name="b", count=2, rest=[])]
    with pytest.raises(MalformedRecordError, match="4 fields where 2"):
        read(schema(), path, "a,1,x,y\n")


def test_values_of_another_type_are_malformed(path: Path) -> None:
    side = Collected()
    columns = schema().add_boolean_column("is_sold")
    path.write_text("a,1,true\na,x,true\na,2,perhaps\n")
    rows = records_of(CsvReaderFormat.for_schema(columns.build()), input_file(path, side=side))
    assert [row["count"] for row in rows] == [1]
    assert [record.content for record in side.records] == ["a,x,true", "a,2,perhaps"]


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProgramError, match="not read"):
        CsvReaderFormat.for_schema(schema().set_line_separator("|").build())
    with pytest.raises(ProgramError, match="cannot have the type"):
        CsvReaderFormat.for_schema(CsvSchema.builder().add_number_column("at", Types.SQL_DATE()).build())
    with pytest.raises(ProgramError, match="no separator"):
        CsvReaderFormat.for_schema(
            CsvSchema.builder()
            .add_array_column("a")
            .remove_array_element_separator(0)
            .disable_array_element_separator()
            .build()
        )
    with pytest.raises(TypeError, match="CsvSchema"):
        CsvReaderFormat.for_schema("name,count")  # type: ignore[arg-type]


def test_it_is_a_stream_format() -> None:
    file_format = CsvReaderFormat.for_schema(schema().build())
    assert isinstance(file_format, StreamFormat)
    assert not file_format.is_splittable
