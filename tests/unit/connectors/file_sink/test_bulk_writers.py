"""Files of every bulk format, written by a sink and read back by the format's own library."""

from __future__ import annotations

import bz2
import datetime
import gzip
from dataclasses import dataclass
from decimal import Decimal

import fastavro
import pyarrow
import pytest
from pyarrow import orc, parquet

from penstock.connectors.files.formats.csv_schema import CsvSchema
from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.bulk_writers.avro import AvroBulkWriters, AvroParquetWriters, AvroSchema
from penstock.connectors.files.sink.bulk_writers.columns import OrcBulkWriters, ParquetBulkWriters
from penstock.connectors.files.sink.bulk_writers.compressed import CompressWriterFactory
from penstock.connectors.files.sink.bulk_writers.csv import CsvBulkWriters
from penstock.connectors.files.sink.sink import FileSink
from penstock.errors import ProgramError, SerializationError
from penstock.vocabulary.time.durations import Instant
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import Encoder
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
AVRO_WORDS = (
    '{"type": "record", "name": "Word", "fields": [{"name": "word", "type": "string"},'
    ' {"name": "count", "type": ["null", "long"]}]}'
)


@dataclass
class Word:
    word: str
    count: int


def written(tmp_path, factory, *records):
    """Write records in one file and return its path."""
    builder = FileSink.for_bulk_format(str(tmp_path), factory)
    run = FileSinkRun(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    for record in records:
        run.write(record)
    run.finish()
    (path,) = tmp_path.iterdir()
    assert path.name == "part-0-0"
    return path


@pytest.mark.parametrize("schema", [WORDS, pyarrow.schema([("word", pyarrow.string()), ("count", pyarrow.int64())])])
def test_parquet_takes_rows_tuples_dicts_and_objects(tmp_path, schema):
    records = [("a", 1), Row("b", 2), Row(count=3, word="c"), {"word": "d"}, Word("e", 5)]
    path = written(tmp_path, ParquetBulkWriters.for_row_type(schema), *records)
    assert parquet.read_table(path).to_pydict() == {"word": ["a", "b", "c", "d", "e"], "count": [1, 2, 3, None, 5]}


def test_parquet_row_groups_and_compression(tmp_path):
    factory = ParquetBulkWriters.for_row_type(WORDS, compression="zstd", row_group_rows=10_000)
    builder = FileSink.for_bulk_format(str(tmp_path), factory)
    run = FileSinkRun(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.writers[0].write_run([("a", number) for number in range(9_000)], None)
    run.writers[0].write_run([("b", number) for number in range(9_000)], None)
    run.writers[0].write_run([("c", 1)], None)
    run.finish()
    file = parquet.ParquetFile(tmp_path / "part-0-0")
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [18_000, 1]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    file.close()


def test_every_type_has_its_column(tmp_path):
    time = datetime.datetime(2020, 3, 25, 12, 30, 0, 5000, tzinfo=datetime.UTC)
    fields = {
        "flag": (Types.BOOLEAN(), True),
        "small": (Types.SHORT(), 7),
        "real": (Types.FLOAT(), 0.5),
        "exact": (Types.BIG_DEC(), Decimal("1.5")),
        "day": (Types.SQL_DATE(), datetime.date(2020, 3, 25)),
        "local": (Types.SQL_TIMESTAMP(), time.replace(tzinfo=None)),
        "moment": (Types.INSTANT(), Instant.of_epoch_milli(int(time.timestamp() * 1000))),
        "raw": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0\1"),
        "items": (Types.LIST(Types.STRING()), ["a", "b"]),
        "inner": (Types.ROW_NAMED(["x", "when"], [Types.INT(), Types.INSTANT()]), Row(1, Instant(0, 0))),
        "table": (Types.MAP(Types.STRING(), Types.INT()), {"k": 1}),
        "pair": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "z")),
    }
    row_type = Types.ROW_NAMED(list(fields), [kind for kind, _ in fields.values()])
    path = written(tmp_path, ParquetBulkWriters.for_row_type(row_type), tuple(value for _, value in fields.values()))
    expected = {name: value for name, (_, value) in fields.items()} | {
        "moment": time,
        "inner": {"x": 1, "when": datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)},
        "table": [("k", 1)],
        "pair": {"f0": 1, "f1": "z"},
    }
    assert parquet.read_table(path).to_pylist() == [expected]


def test_types_without_a_column_are_refused():
    with pytest.raises(ProgramError, match="no column"):
        ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["any"], [Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(ProgramError, match="ROW_NAMED"):
        ParquetBulkWriters.for_row_type("word string")


def test_a_value_that_does_not_fit_is_named(tmp_path):
    records = [("a", 1), ("b", 2), ("c", "three")]
    with pytest.raises(SerializationError, match="'three' does not fit into the column 'count' of type int64"):
        written(tmp_path, ParquetBulkWriters.for_row_type(WORDS), *records)


def test_orc(tmp_path):
    path = written(tmp_path, OrcBulkWriters.for_row_type(WORDS), ("a", 1), ("b", 2))
    assert orc.read_table(path).to_pydict() == {"word": ["a", "b"], "count": [1, 2]}


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_avro(tmp_path, codec):
    factory = AvroBulkWriters.for_generic_record(AvroSchema.parse_string(AVRO_WORDS), codec=codec)
    path = written(tmp_path, factory, {"word": "a", "count": 1}, Row(word="b", count=None), Word("c", 3))
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        assert list(reader) == [{"word": "a", "count": 1}, {"word": "b", "count": None}, {"word": "c", "count": 3}]
        assert reader.codec == codec


def test_avro_schemas_come_from_files_too(tmp_path):
    file = tmp_path / "word.avsc"
    file.write_text(AVRO_WORDS)
    assert AvroSchema.parse_file(str(file)).definition["name"] == "Word"
    with pytest.raises(ProgramError, match="not JSON"):
        AvroSchema.parse_string("{")
    with pytest.raises(ProgramError, match="type record"):
        AvroBulkWriters.for_generic_record({"type": "string"})


def test_avro_schema_in_parquet(tmp_path):
    schema = {
        "type": "record",
        "name": "Visit",
        "fields": [
            {"name": "user", "type": {"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}},
            {"name": "friend", "type": ["null", "User"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "counts", "type": {"type": "map", "values": "int"}},
        ],
    }
    record = {"user": {"id": 1}, "friend": None, "at": 1000, "kind": "A", "tags": ["x"], "counts": {"k": 1}}
    path = written(tmp_path, AvroParquetWriters.for_generic_record(schema), record)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert parquet.read_table(path).to_pylist() == [record | {"at": moment, "counts": [("k", 1)]}]
    union = {"type": "record", "name": "U", "fields": [{"name": "x", "type": ["int", "string"]}]}
    with pytest.raises(ProgramError, match="one type"):
        AvroParquetWriters.for_generic_record(union)


def test_compressed_text(tmp_path):
    path = written(tmp_path, CompressWriterFactory(Encoder.simple_string_encoder(), "gz"), "a", "b")
    assert gzip.decompress(path.read_bytes()) == b"a\nb\n"


def test_compressed_text_with_bz2_and_zstd(tmp_path):
    path = written(tmp_path / "bz2", CompressWriterFactory(lambda element: f"{element};".encode(), "bz2"), "a", "b")
    assert bz2.decompress(path.read_bytes()) == b"a;b;"
    path = written(tmp_path / "zst", CompressWriterFactory(Encoder.simple_string_encoder(), "zst"), "a", "b")
    with pyarrow.input_stream(str(path), compression="zstd") as stream:
        assert stream.read() == b"a\nb\n"
    with pytest.raises(ProgramError, match="no codec 'rar'"):
        CompressWriterFactory(Encoder.simple_string_encoder(), "rar")


def test_csv(tmp_path):
    schema = (
        CsvSchema.builder()
        .add_string_column("word")
        .add_number_column("count", number_type=Types.LONG())
        .add_boolean_column("known")
        .add_array_column("tags", separator="#")
        .build()
    )
    records = [("a", 1, True, ["x", "y"]), Row('q"', None, False, []), {"word": "b,c", "count": 1.5, "known": True}]
    path = written(tmp_path, CsvBulkWriters.for_schema(schema), *records[:2], {**records[2], "tags": [1]})
    assert path.read_text() == 'a,1,true,x#y\n"q""",,false,\n"b,c",1.5,true,1\n'


def test_csv_with_every_sign_of_its_own(tmp_path):
    builder = CsvSchema.builder().add_columns_from(CsvSchema.builder().add_string_column("a").build())
    builder.add_array_column("b").remove_array_element_separator(1).set_array_element_separator("+")
    builder.set_column_separator("|").set_line_separator("\r\n").set_null_value("NULL").set_use_header()
    builder.disable_quote_char().set_escape_char("\\")
    path = written(tmp_path, CsvBulkWriters.for_schema(builder.build()), ("x|y", [1, 2]), (None, None))
    assert path.read_bytes() == b"a|b\r\nx\\|y|1+2\r\nNULL|NULL\r\n"


def test_csv_schemas_are_checked():
    with pytest.raises(ProgramError, match="different names"):
        CsvSchema.builder().add_string_column("a").add_number_column("a").build()
    with pytest.raises(ProgramError, match="none"):
        CsvSchema.builder().add_string_column("a").clear_columns().build()
    with pytest.raises(ProgramError, match="one character"):
        CsvSchema.builder().set_quote_char("''")
    builder = CsvSchema.builder().add_array_column("a").remove_array_element_separator(0)
    with pytest.raises(ProgramError, match="needs a separator"):
        CsvBulkWriters.for_schema(builder.disable_array_element_separator().build())
