"""The file that one subtask is writing in one bucket: by records, or with a bulk writer."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.files.sink.part_stream import PartStream
    from penstock.connectors.files.sink.state import OpenPart, PendingPart
    from penstock.vocabulary.types.serialization import BulkWriterFactory, Encoder

__all__ = ["BulkPart", "Part", "RowPart"]


class Part(ABC):
    """A file in progress; rolling policies ask it about itself."""

    def __init__(self, place: OpenPart, stream: PartStream) -> None:
        self._place = place
        self._stream = stream
        self.updated = place.updated

    def get_bucket_id(self) -> str:
        """Return the bucket of the file."""
        return self._place.bucket

    def get_creation_time(self) -> int:
        """Return when the file was begun, in milliseconds."""
        return self._place.created

    def get_size(self) -> int:
        """Return the number of bytes written so far."""
        return self._stream.tell()

    def get_last_update_time(self) -> int:
        """Return when the last record was written, in milliseconds."""
        return self.updated

    @abstractmethod
    def write(self, elements: list[Any], limit: int) -> int:
        """Write records until the file has reached the limit; return how many were written, at least one."""

    def persist(self) -> OpenPart:
        """Make durable what was written so far, and say how to go on from here."""
        self._stream.persist()
        return replace(self._place, length=self._stream.tell(), updated=self.updated)

    def close(self) -> PendingPart:
        """End the file; it waits for its commit."""
        self._stream.end()
        place = self._place
        return place.closed(self._stream.tell())

    def abandon(self) -> None:
        """Let go of the file without ending it properly."""
        self._stream.abandon()


class RowPart(Part):
    """A file that can end after any record."""

    def __init__(self, place: OpenPart, stream: PartStream, encoder: Encoder[Any]) -> None:
        super().__init__(place, stream)
        self._encode = encoder.encode
        self._encode_run: Callable[[list[Any]], bytes] | None = getattr(encoder, "encode_run", None)

    def write(self, elements: list[Any], limit: int) -> int:
        """Write records until the file has reached the limit; return how many were written, at least one."""
        space = limit - self._stream.tell()
        if self._encode_run is not None:
            data = self._encode_run(elements)
            if len(data) < space:
                self._stream.write(data)
                return len(elements)
        encode, buffer, written = self._encode, io.BytesIO(), 0
        for element in elements:
            encode(element, buffer)
            written += 1
            if buffer.tell() >= space:
                break
        self._stream.write(buffer.getvalue())
        return written


class BulkPart(Part):
    """A file whose end the format has to write."""

    def __init__(self, place: OpenPart, stream: PartStream, factory: BulkWriterFactory[Any]) -> None:
        super().__init__(place, stream)
        self._writer = factory.create(cast("BinaryIO", stream))
        self._add_run: Callable[[list[Any]], None] | None = getattr(self._writer, "add_run", None)

    def write(self, elements: list[Any], limit: int) -> int:
        """Write records; how large the file is shows only now and then, when the format writes a block."""
        if self._add_run is not None:
            self._add_run(elements)
        else:
            add = self._writer.add_element
            for element in elements:
                add(element)
        return len(elements)

    def close(self) -> PendingPart:
        """Have the writer finish the file and end it; it waits for its commit."""
        self._writer.flush()
        self._writer.finish()
        return super().close()
