"""Schemas, encoders, bulk writers and serialisers."""

import io
import pickle

import pytest

from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import (
    BulkWriter,
    BulkWriterFactory,
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowDataBulkWriterFactory,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.vocabulary.types.serializer import TypeSerializer, VoidNamespaceSerializer


@pytest.mark.parametrize(("charset", "encoded"), [("UTF-8", b"\xc3\xa4"), ("ISO-8859-1", b"\xe4")])
def test_text_is_written_and_read_in_its_character_set(charset, encoded):
    schema = pickle.loads(pickle.dumps(SimpleStringSchema(charset)))
    assert schema.serialize("ä") == encoded
    assert schema.deserialize(encoded) == "ä"
    assert schema.get_produced_type() == Types.STRING()
    assert isinstance(schema, SerializationSchema)
    assert isinstance(schema, DeserializationSchema)
    assert not schema.is_end_of_stream("ä")


def test_a_string_schema_refuses_what_is_no_text():
    with pytest.raises(TypeError, match="str only"):
        SimpleStringSchema().serialize(5)
    with pytest.raises(ValueError, match="not a character set"):
        SimpleStringSchema("UTF-9")


def test_bytes_pass_as_they_are():
    schema = ByteArraySchema()
    assert schema.serialize(b"\x00") == schema.deserialize(b"\x00") == b"\x00"
    assert schema.get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    with pytest.raises(TypeError, match="bytes only"):
        schema.serialize("x")


def test_a_field_of_a_row_is_extracted():
    row = Row(b"key", b"value", None, 5)
    assert RowFieldExtractorSchema(0).serialize(row) == b"key"
    assert RowFieldExtractorSchema(1).serialize(row) == b"value"
    assert RowFieldExtractorSchema(2).serialize(row) == b""
    assert RowFieldExtractorSchema(0).serialize(None) == b""
    with pytest.raises(TypeError, match="must hold bytes"):
        RowFieldExtractorSchema(3).serialize(row)
    with pytest.raises(ValueError, match="0 or more"):
        RowFieldExtractorSchema(-1)
    with pytest.raises(TypeError, match="must be an int"):
        RowFieldExtractorSchema("0")


def test_the_simple_string_encoder_writes_one_line_per_record():
    encoder = pickle.loads(pickle.dumps(Encoder.simple_string_encoder()))
    stream = io.BytesIO()
    for record in ("ä", 5, ("a", 1)):
        encoder.encode(record, stream)
    assert stream.getvalue() == "ä\n5\n('a', 1)\n".encode()


class LineCountWriter(BulkWriter):
    def __init__(self, stream):
        self.stream = stream
        self.count = 0

    def add_element(self, element):
        self.count += 1

    def flush(self):
        self.stream.flush()

    def finish(self):
        self.stream.write(str(self.count).encode())


class LineCountFactory(BulkWriterFactory):
    def create(self, stream):
        return LineCountWriter(stream)


class RowCountFactory(RowDataBulkWriterFactory):
    def create(self, stream):
        return LineCountWriter(stream)


def test_a_program_brings_its_own_bulk_format():
    stream = io.BytesIO()
    writer = LineCountFactory().create(stream)
    writer.add_element("a")
    writer.add_element("b")
    writer.finish()
    assert stream.getvalue() == b"2"
    row_type = Types.ROW([Types.INT()])
    assert RowCountFactory(row_type).get_row_type() == row_type


class ByteSerializer(TypeSerializer):
    def serialize(self, element, stream):
        stream.write(bytes([element]))

    def deserialize(self, stream):
        return stream.read(1)[0]


def test_a_serialiser_reads_what_it_wrote():
    stream = io.BytesIO()
    ByteSerializer().serialize(7, stream)
    VoidNamespaceSerializer().serialize(b"", stream)
    ByteSerializer().serialize(8, stream)
    stream.seek(0)
    assert ByteSerializer().deserialize(stream) == 7
    assert VoidNamespaceSerializer().deserialize(stream) == b""
    assert ByteSerializer().deserialize(stream) == 8
    assert ByteSerializer() == ByteSerializer()
    assert ByteSerializer() != VoidNamespaceSerializer()
    with pytest.raises(ValueError, match="empty namespace"):
        VoidNamespaceSerializer().serialize(b"x", stream)


@pytest.mark.parametrize(
    "kind", [SerializationSchema, DeserializationSchema, Encoder, BulkWriterFactory, TypeSerializer]
)
def test_what_a_program_has_to_write_itself_cannot_be_left_out(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()
