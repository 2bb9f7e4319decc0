"""CSV as the csv module reads it, and JSON lines; malformed records with their places."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import MalformedRecordError, ProgramError, Row
from penstock.connectors.files.formats import line_cursor
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.stream import JsonLinesFormat
from tests.unit.connectors.files.reading import Collected, input_file, records_of, resumed_everywhere


@dataclass
class Item:
    id: int
    name: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "content"


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_csv_becomes_dicts_by_its_header(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'id,name\n1,Ann\n2,"Smith, ""Bob"""\n')
    assert records_of(CsvFormat(), input_file(path)) == [
        {"id": "1", "name": "Ann"},
        {"id": "2", "name": 'Smith, "Bob"'},
    ]


@pytest.mark.parametrize(
    ("record_type", "expected"),
    [
        (dict, {"id": 1, "name": "Ann"}),
        (tuple, (1, "Ann")),
        (Row, Row(id=1, name="Ann")),
        (Item, Item(1, "Ann")),
    ],
)
def test_csv_becomes_what_is_asked_for(tmp_path: Path, record_type: Any, expected: Any) -> None:
    path = written(tmp_path / "a.csv", "name,ignored,id\nAnn,x,1\n")
    file_format = CsvFormat({"id": int, "name": str}, record_type=record_type)
    assert records_of(file_format, input_file(path)) == [expected]


def test_quoted_fields_may_hold_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'id,text\r\n1,"two\r\nlines\nand more"\r\n\r\n2,one\r\n')
    expected = [{"id": "1", "text": "two\r\nlines\nand more"}, {"id": "2", "text": "one"}]
    for chunk in (1, 7, 1000):
        with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
            assert records_of(CsvFormat(), input_file(path)) == expected
            for run in resumed_everywhere(CsvFormat(), path):
                assert run == expected


def test_csv_without_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "1;Ann\n2;Bob\n")
    assert records_of(CsvFormat(has_header=False, record_type=tuple, delimiter=";"), input_file(path)) == [
        ("1", "Ann"),
        ("2", "Bob"),
    ]
    named = CsvFormat(["id", "name"], has_header=False, delimiter=";")
    assert records_of(named, input_file(path))[1] == {"id": "2", "name": "Bob"}


def test_programs_that_cannot_name_columns_are_refused() -> None:
    with pytest.raises(ProgramError, match="columns"):
        CsvFormat(has_header=False)
    with pytest.raises(ProgramError, match="delimiter"):
        CsvFormat(delimiter="ab")
    with pytest.raises(ProgramError, match="record_type"):
        CsvFormat(record_type="dict")  # type: ignore[arg-type]


def test_a_column_that_a_file_lacks_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "id,name\n1,Ann\n")
    with pytest.raises(ProgramError, match="'price'"):
        records_of(CsvFormat(["id", "price"]), input_file(path))


@pytest.mark.parametrize(
    ("bad", "problem"),
    [("2", "1 fields"), ("2,b,c", "3 fields"), ("x,b", "invalid literal"), ('2,"b"c', "expected after")],
)
def test_malformed_csv_fails_with_its_place_or_goes_aside(tmp_path: Path, bad: str, problem: str) -> None:
    path = written(tmp_path / "a.csv", f'id,name\n1,"a\nb"\n{bad}\n3,c\n')
    file_format = CsvFormat({"id": int, "name": str})
    with pytest.raises(MalformedRecordError, match=problem) as caught:
        records_of(file_format, input_file(path))
    assert (caught.value.position, caught.value.content) == ("line 4, byte 16", bad)
    side = Collected()
    good = records_of(file_format, input_file(path, side=side))
    assert [record["id"] for record in good] == [1, 3]
    assert [(record.position, record.content) for record in side.records] == [(16, bad)]


def test_undecodable_csv_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,name\n1,\xff\n2,b\n")
    side = Collected()
    assert records_of(CsvFormat(), input_file(path, side=side)) == [{"id": "2", "name": "b"}]
    assert [record.position for record in side.records] == [8]


def test_a_quote_that_is_never_closed_is_malformed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'id,name\n1,a\n2,"b\n3,c\n')
    side = Collected()
    assert records_of(CsvFormat(), input_file(path, side=side)) == [{"id": "1", "name": "a"}]
    assert [record.content for record in side.records] == ['2,"b\n3,c']


fields = st.text(st.sampled_from('ab,;"\n\rü '), max_size=6)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(fields, fields), max_size=8), chunk=st.integers(1, 40), limit=st.integers(1, 3))
def test_whatever_the_csv_module_writes_is_read_once_and_in_order(
    place: Path, rows: list[tuple[str, str]], chunk: int, limit: int
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(["x", "y"])
    writer.writerows(rows)
    place.write_bytes(text.getvalue().encode())
    file_format = CsvFormat(record_type=tuple)
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        assert records_of(file_format, input_file(place), limit=limit) == rows
        for run in resumed_everywhere(file_format, place, limit=limit):
            assert run == rows


@settings(deadline=None)
@given(count=st.integers(0, 12), cut=st.integers(1, 80), chunk=st.integers(1, 20))
def test_csv_without_line_ends_in_fields_can_be_divided(place: Path, count: int, cut: int, chunk: int) -> None:
    rows = [(str(number), "ab"[number % 2]) for number in range(count)]
    place.write_text("".join(f"{one},{two}\n" for one, two in [("x", "y"), *rows]))
    file_format = CsvFormat(record_type=tuple, is_multiline=False)
    assert file_format.is_splittable
    assert not CsvFormat().is_splittable
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        found = records_of(file_format, input_file(place, 0, cut)) + records_of(
            file_format, input_file(place, cut, None)
        )
    assert found == rows


def test_an_empty_csv_file_has_no_records(tmp_path: Path) -> None:
    assert records_of(CsvFormat(), input_file(written(tmp_path / "a.csv", ""))) == []
    assert records_of(CsvFormat(), input_file(written(tmp_path / "b.csv", "id,name\n"))) == []


def test_json_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"id": 1, "name": "Ännchen"}\n\n[1, 2]\r\n"text"\n  \nnull')
    assert records_of(JsonLinesFormat(), input_file(path)) == [{"id": 1, "name": "Ännchen"}, [1, 2], "text", None]


@pytest.mark.parametrize(("record_type", "expected"), [(Row, Row(id=1, name="a")), (Item, Item(1, "a"))])
def test_json_objects_become_what_is_asked_for(tmp_path: Path, record_type: Any, expected: Any) -> None:
    path = written(tmp_path / "a.jsonl", '{"id": 1, "name": "a"}\n')
    assert records_of(JsonLinesFormat(record_type=record_type), input_file(path)) == [expected]


@pytest.mark.parametrize("bad", ['{"id": 1', "1,2", "{'id': 1}", "[1] x"])
def test_malformed_json_fails_with_its_place_or_goes_aside(tmp_path: Path, bad: str) -> None:
    path = written(tmp_path / "a.jsonl", f"1\n{bad}\n2\n")
    with pytest.raises(MalformedRecordError, match=r"line 2, byte 2") as caught:
        records_of(JsonLinesFormat(), input_file(path))
    assert caught.value.content == bad
    side = Collected()
    assert records_of(JsonLinesFormat(), input_file(path, side=side)) == [1, 2]
    assert [(record.origin, record.position, record.content) for record in side.records] == [(str(path), 2, bad)]


def test_an_object_that_does_not_fit_the_class_is_malformed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"id": 1}\n{"id": 2, "name": "b"}\n')
    side = Collected()
    assert records_of(JsonLinesFormat(record_type=Item), input_file(path, side=side)) == [Item(2, "b")]
    assert len(side.records) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None)
@given(values=st.lists(json_values, max_size=10), cut=st.integers(1, 60), chunk=st.integers(1, 30))
def test_json_lines_are_read_once_in_any_division(place: Path, values: list[Any], cut: int, chunk: int) -> None:
    place.write_text("".join(json.dumps(value) + "\n" for value in values))
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        first = records_of(JsonLinesFormat(), input_file(place, 0, cut))
        assert first + records_of(JsonLinesFormat(), input_file(place, cut, None)) == values
        for run in resumed_everywhere(JsonLinesFormat(), place):
            assert run == values
