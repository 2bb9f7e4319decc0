"""Parquet, ORC, Avro and formats of programs' own: parts, ranges of parts, positions, damage."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow
import pytest
from pyarrow import orc, parquet

from penstock import MalformedRecordError, Row
from penstock.connectors.files.formats.avro import AvroFormat
from penstock.connectors.files.formats.bulk import BulkFormat, BulkReader
from penstock.connectors.files.formats.columnar import OrcFormat, ParquetFormat
from penstock.connectors.files.formats.stream import SimpleStreamFormat
from penstock.errors import JobFailedError
from penstock.vocabulary.sources.protocol import MalformedRecord
from tests.unit.connectors.files.reading import Collected, input_file, records_of, resumed_everywhere

ROWS = [{"id": number, "name": f"n{number % 3}"} for number in range(1000)]


@pytest.fixture(params=["parquet", "orc", "avro"])
def bulk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    path = tmp_path / f"rows.{request.param}"
    table = pyarrow.Table.from_pylist(ROWS)
    if request.param == "parquet":
        parquet.write_table(table, path, row_group_size=150)
        return ParquetFormat(), path
    if request.param == "orc":
        orc.write_table(table, path, stripe_size=4096, batch_size=100)
        return OrcFormat(), path
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
    }
    with path.open("wb") as file:
        fastavro.writer(file, schema, ROWS, sync_interval=500)
    return AvroFormat(), path


def test_all_rows_in_order(bulk: tuple[Any, Path]) -> None:
    assert records_of(bulk[0], input_file(bulk[1]), limit=70) == ROWS


def test_reading_goes_on_behind_the_last_row(bulk: tuple[Any, Path]) -> None:
    for run in resumed_everywhere(*bulk, limit=83):
        assert run == ROWS


def test_other_shapes(bulk: tuple[Any, Path]) -> None:
    make = type(bulk[0])
    assert records_of(make(record_type=Row), input_file(bulk[1]))[4] == Row(id=4, name="n1")
    if make is not AvroFormat:
        assert records_of(make(record_type=tuple), input_file(bulk[1]))[4] == (4, "n1")
        assert records_of(make(["name"]), input_file(bulk[1]))[4] == {"name": "n1"}


@pytest.mark.parametrize("ranges", [2, 3, 7, 20])
@pytest.mark.parametrize("bulk", ["parquet", "orc"], indirect=True)  # the others are read by one subtask
def test_every_part_is_in_one_range(bulk: tuple[Any, Path], ranges: int) -> None:
    file_format, path = bulk
    assert file_format.is_splittable
    whole = input_file(path)
    bounds = [whole.size * number // ranges for number in range(ranges)]
    found = [
        records_of(file_format, input_file(path, start, end))
        for start, end in zip(bounds, [*bounds[1:], None], strict=True)
    ]
    assert [row for records in found for row in records] == ROWS
    assert sum(1 for records in found if records) > 1


def test_damaged_files_fail_or_go_aside(bulk: tuple[Any, Path]) -> None:
    file_format, path = bulk
    path.write_bytes(b"no such format, but long enough to have a footer")
    with pytest.raises(MalformedRecordError, match=path.name):
        records_of(file_format, input_file(path))
    side = Collected()
    assert records_of(file_format, input_file(path, side=side)) == []
    assert [record.origin for record in side.records] == [str(path)]


def test_a_cut_off_avro_file_says_so(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    content = io.BytesIO()
    fastavro.writer(content, schema, [{"id": number} for number in range(1000)], sync_interval=200)
    path = tmp_path / "a.avro"
    path.write_bytes(content.getvalue()[:-30])
    side = Collected()
    found = records_of(AvroFormat(), input_file(path, side=side))
    assert found == [{"id": number} for number in range(len(found))]
    assert 0 < len(found) < 1000
    assert len(side.records) == 1


def test_a_column_that_a_parquet_file_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"id": [1]}), path)
    with pytest.raises(MalformedRecordError, match="'price'"):
        records_of(ParquetFormat(["price"]), input_file(path))


def test_a_class_that_refuses_a_row_fails_the_job(tmp_path: Path) -> None:
    def positive(id: int) -> int:
        if id < 0:
            raise ValueError("negative")
        return id

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"id": [1, -1]}), path)
    with pytest.raises(JobFailedError, match="negative"):
        records_of(ParquetFormat(record_type=positive), input_file(path, side=Collected()))


def test_values_of_parquet_are_pythons(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    moment = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    table = pyarrow.table(
        {
            "at": pyarrow.array([moment], pyarrow.timestamp("us", "UTC")),
            "tags": pyarrow.array([[("a", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
            "list": [[1, None]],
            "nothing": pyarrow.array([None], pyarrow.string()),
        }
    )
    parquet.write_table(table, path)
    assert records_of(ParquetFormat(), input_file(path)) == [
        {"at": moment, "tags": {"a": 1}, "list": [1, None], "nothing": None}
    ]


class Pairs(BulkFormat[int]):
    """Two bytes are a part."""

    is_splittable = True

    def open(self, file: Any, path: str) -> BulkReader[int]:
        return PairReader(file.read())


class PairReader(BulkReader[int]):
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.part_count = -(-len(content) // 2)

    def read_part(self, number: int) -> list[list[int]] | None:
        pair = self.content[2 * number : 2 * number + 2]
        if 0 in pair:
            raise ValueError("zero")
        return [list(pair)] if pair else None


def test_a_bulk_format_of_a_programs_own(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(1, 10)))
    for run in resumed_everywhere(Pairs(), path):
        assert run == list(range(1, 10))
    path.write_bytes(bytes([1, 2, 0, 3, 4]))
    side = Collected()
    assert records_of(Pairs(), input_file(path, side=side)) == [1, 2, 4]
    assert [record.position for record in side.records] == ["part 1"]


class Words(SimpleStreamFormat[str]):
    """Words are records; a word with a question mark is none."""

    def read_records(self, stream: Any, path: str) -> Iterator[Any]:
        for number, word in enumerate(stream.read().decode().split()):
            yield MalformedRecord(path, number, word, "a question") if "?" in word else word


def test_a_stream_format_of_a_programs_own(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("to be or not to be")
    for run in resumed_everywhere(Words(), path, limit=2):
        assert run == ["to", "be", "or", "not", "to", "be"]
    path.write_text("that is the question? no")
    with pytest.raises(MalformedRecordError, match="a question"):
        records_of(Words(), input_file(path))
    side = Collected()
    assert records_of(Words(), input_file(path, side=side), limit=1) == ["that", "is", "the", "no"]
    assert [record.content for record in side.records] == ["question?"]
