"""How records become lines."""

from __future__ import annotations

import datetime
import pickle

import pytest

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.encoder import CsvEncoder, JsonLinesEncoder, as_encoder, encode_all
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.files.sink.sink import FileSink
from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import Encoder, SimpleStringSchema
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun, finished


class ToBytes:
    def encode(self, element):
        return f"<{element}>".encode()


class ToStream:
    def encode(self, element, stream):
        stream.write(f"<{element}>".encode())


@pytest.mark.parametrize(
    ("given", "content"),
    [
        (Encoder.simple_string_encoder(), b"a\n\xc3\xa4\n"),
        (Encoder.simple_string_encoder("ISO-8859-1"), b"a\n\xe4\n"),
        (ToBytes(), "<a><ä>".encode()),
        (ToStream(), "<a><ä>".encode()),
        (str.encode, "aä".encode()),
        (lambda element: element.encode() + b"|", "a|ä|".encode()),
        (SimpleStringSchema(), "aä".encode()),
        (JsonLinesEncoder(), '"a"\n"ä"\n'.encode()),
        (JsonLinesEncoder(ensure_ascii=True), b'"a"\n"\\u00e4"\n'),
    ],
)
def test_everything_that_encodes(given, content):
    assert encode_all(as_encoder(given), ["a", "ä"]) == content


def test_character_sets_with_a_mark_write_it_for_each_record():
    encoder = Encoder.simple_string_encoder("UTF-16")
    one_by_one = b"".join(encode_all(encoder, [element]) for element in "ab")
    assert encode_all(encoder, ["a", "b"]) == one_by_one == "a\n".encode("UTF-16") + "b\n".encode("UTF-16")


def test_json_lines():
    encoder = pickle.loads(pickle.dumps(JsonLinesEncoder()))
    records = [{"a": [1, None]}, Row(x=1, y=Row(z="q")), Row(1, 2), (3, 4)]
    assert encode_all(encoder, records) == b'{"a":[1,null]}\n{"x":1,"y":{"z":"q"}}\n[1,2]\n[3,4]\n'
    with pytest.raises(TypeError, match="date"):
        encode_all(encoder, [{"day": datetime.date(2020, 3, 25)}])
    with_dates = JsonLinesEncoder(to_json=str)
    assert encode_all(with_dates, [{"day": datetime.date(2020, 3, 25)}]) == b'{"day":"2020-03-25"}\n'


def test_csv():
    records = [("a", 1, None), Row('q"', "x,y", "two\nlines")]
    assert encode_all(CsvEncoder(), records) == b'a,1,\n"q""","x,y","two\nlines"\n'
    assert encode_all(CsvEncoder(delimiter=";", null_literal="NULL"), records[:1]) == b"a;1;NULL\n"


@pytest.mark.parametrize("given", [7, "text", ToBytes, None])
def test_what_cannot_encode_is_refused(given):
    with pytest.raises(ProgramError, match="cannot encode"):
        FileSink.for_row_format("out", given)


@pytest.mark.parametrize("encoder", [Encoder.simple_string_encoder(), ToStream(), CsvEncoder()])
def test_files_roll_at_their_size_with_every_encoder(tmp_path, encoder):
    builder = FileSink.for_row_format(str(tmp_path), encoder)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    run = FileSinkRun(builder.with_rolling_policy(RollingPolicy.default_rolling_policy(7)).build())
    run.write(*"abcdefghij")
    run.finish()
    whole = encode_all(as_encoder(encoder), list("abcdefghij"))
    size = len(whole) // 10
    per_file = -(-7 // size) * size
    expected = [whole[start : start + per_file].decode() for start in range(0, len(whole), per_file)]
    assert list(finished(tmp_path).values()) == expected


def test_csv_fields_with_any_line_break_are_quoted():
    encoder = CsvEncoder()
    assert encoder.encode_run([("a\rb", 1), ("c", 2), ("d\ne", 3)]) == b'"a\rb",1\nc,2\n"d\ne",3\n'
