"""How records become bytes and bytes become records at the edges of a job."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.types.catalogue import Types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.vocabulary.types.composite import RowTypeInfo
    from penstock.vocabulary.types.rows import Row
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]

T = TypeVar("T")


class SerializationSchema(ABC, Generic[T]):
    """Turns a record into the bytes of one message, for a sink such as Kafka's."""

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """Return the bytes of a record."""


class DeserializationSchema(ABC, Generic[T]):
    """Turns the bytes of one message into a record, for a source such as Kafka's."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T | None:
        """Return the record of a message; None means that the message is left out."""

    def is_end_of_stream(self, next_element: T) -> bool:
        """Tell whether the stream ends before this record; streams do not end unless a schema says so."""
        return False

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return Types.PICKLED_BYTE_ARRAY()


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    """Text as its bytes in one character set.

    Example:
        >>> SimpleStringSchema().serialize("flow")
        b'flow'
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        """Create a schema for the given character set."""
        self._charset = _known_charset(charset)

    def serialize(self, value: str) -> bytes:
        """Return the bytes of a text."""
        require_instance(value, str, "SimpleStringSchema writes str only; map the stream to str before its sink.")
        return value.encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        """Return the text of a message."""
        return bytes(message).decode(self._charset)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of text."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[bytes], DeserializationSchema[bytes]):
    """Bytes as they are."""

    def serialize(self, value: bytes) -> bytes:
        """Return the bytes."""
        require_instance(value, (bytes, bytearray), "ByteArraySchema writes bytes only; map the stream to bytes first.")
        return bytes(value)

    def deserialize(self, message: bytes) -> bytes:
        """Return the bytes."""
        return bytes(message)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema["Row"]):
    """One field of a row, which must hold bytes, such as the key of a Kafka record; None becomes no bytes."""

    def __init__(self, field_index: int) -> None:
        """Create a schema for the field at `field_index`, counted from 0."""
        require_instance(field_index, int, "The index of a row's field must be an int.")
        if field_index < 0:
            msg = f"The index of a row's field is {field_index}; it must be 0 or more."
            raise ValueError(msg)
        self._field_index = field_index

    def get_field_index(self) -> int:
        """Return the position of the field."""
        return self._field_index

    def serialize(self, value: Row | None) -> bytes:
        """Return the bytes of the field."""
        field = None if value is None else value[self._field_index]
        if field is None:
            return b""
        if not isinstance(field, (bytes, bytearray)):
            msg = (
                f"Field {self._field_index} of {value!r} must hold bytes, not {type(field).__name__}; encode it first."
            )
            raise TypeError(msg)
        return bytes(field)


class Encoder(ABC, Generic[T]):
    """Writes records one by one to a file, for a file sink's row format."""

    @abstractmethod
    def encode(self, element: T, stream: BinaryIO) -> None:
        """Write one record to the stream."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder[Any]:
        """Return an encoder that writes `str(element)` and a line feed."""
        return _SimpleStringEncoder(charset_name)


class _SimpleStringEncoder(Encoder[Any]):
    def __init__(self, charset_name: str) -> None:
        self._charset = _known_charset(charset_name)
        # Some character sets put a mark in front of every text, so texts cannot be joined first.
        self._has_mark = "".encode(charset_name) != b""

    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write(f"{element}\n".encode(self._charset))

    def encode_run(self, elements: Sequence[Any]) -> bytes:
        if self._has_mark:
            return b"".join([f"{element}\n".encode(self._charset) for element in elements])
        lines = [str(element) for element in elements]
        lines.append("")
        return "\n".join(lines).encode(self._charset)


class BulkWriter(ABC, Generic[T]):
    """Writes the records of one file of a bulk format, which is complete only once it is finished."""

    @abstractmethod
    def add_element(self, element: T) -> None:
        """Add a record; it may be kept in memory until `flush`."""

    @abstractmethod
    def flush(self) -> None:
        """Write what is kept in memory as far as the format allows."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left and the end of the file; it does not close the stream."""


class BulkWriterFactory(ABC, Generic[T]):
    """Makes a `BulkWriter` for every file that a file sink begins; it travels with the job and must be picklable."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter[T]:
        """Return a writer onto the stream of a new file."""


class RowDataBulkWriterFactory(BulkWriterFactory["Row"]):
    """Makes bulk writers of rows of one type."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        """Create a factory for rows of `row_type`."""
        self._row_type = row_type

    def get_row_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._row_type


def _known_charset(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        msg = f"{name!r} is not a character set that Python knows; UTF-8 is the usual one."
        raise ValueError(msg) from None
    return name
