"""The two ways of a file sink to write: record by record, or in bulk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.connectors.files.sink.part_file import Part
    from penstock.connectors.files.sink.part_stream import PartStream
    from penstock.connectors.files.sink.state import OpenPart
    from penstock.vocabulary.types.serialization import BulkWriterFactory, Encoder

__all__ = ["BulkParts", "PartFormat", "RowParts"]


class PartFormat(ABC):
    """How records become the bytes of a part file."""

    can_resume: bool
    """Whether a file can be cut after a record and continued."""

    @abstractmethod
    def part(self, place: OpenPart, stream: PartStream) -> Part:
        """Begin a file, or go on with it."""


class RowParts(PartFormat):
    """Records one after the other."""

    can_resume = True

    def __init__(self, encoder: Encoder[Any]) -> None:
        self.encoder = encoder

    def part(self, place: OpenPart, stream: PartStream) -> Part:
        """Begin a file, or go on with it."""
        from penstock.connectors.files.sink.part_file import RowPart

        return RowPart(place, stream, self.encoder)


class BulkParts(PartFormat):
    """Records in the blocks or columns of a bulk writer."""

    can_resume = False

    def __init__(self, factory: BulkWriterFactory[Any]) -> None:
        self.factory = factory

    def part(self, place: OpenPart, stream: PartStream) -> Part:
        """Begin a file."""
        from penstock.connectors.files.sink.part_file import BulkPart

        return BulkPart(place, stream, self.factory)
