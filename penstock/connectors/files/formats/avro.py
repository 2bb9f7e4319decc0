"""Avro files, by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BulkFormat, BulkReader
from penstock.connectors.files.formats.record_shape import from_mapping
from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["AvroFormat"]


class AvroFormat(BulkFormat[Any]):
    """Reads Avro files, with ``fastavro`` (``pip install penstock[avro]``). A file is read by one subtask.

    Args:
        reader_schema: The schema to read with; Avro's rules make the records of files with another schema fit it.
        record_type: What records become: ``dict``, ``Row``, or a class that takes the fields as keyword arguments, such
            as a dataclass.
    """

    def __init__(self, reader_schema: dict[str, Any] | None = None, *, record_type: Callable[..., Any] = dict) -> None:
        self.reader_schema = reader_schema
        self._make = from_mapping(record_type)

    def open(self, file: Any, path: str) -> BulkReader[Any]:
        """Start reading a file."""
        return _AvroReader(file, self.reader_schema, self._make)


class _AvroReader(BulkReader[Any]):
    def __init__(self, file: Any, schema: dict[str, Any] | None, make: Callable[[Any], Any] | None) -> None:
        try:
            from fastavro import block_reader
        except ImportError as error:
            message = "AvroFormat needs fastavro: pip install penstock[avro]."
            raise ProgramError(message) from error
        self._blocks = block_reader(file, schema)
        self._make = make
        self._next = 0

    def read_part(self, number: int) -> Iterator[list[Any]] | None:
        while True:
            try:
                block = next(self._blocks, None)
            except (ValueError, EOFError):
                raise
            except (LookupError, TypeError, ArithmeticError) as error:
                message = f"damaged: {type(error).__name__}: {error}"
                raise ValueError(message) from error
            if block is None:
                return None
            self._next += 1
            if self._next > number:  # blocks before it are passed over without decoding them
                return iter([self._records(block)])

    def _records(self, block: Any) -> list[Any]:
        return list(block) if self._make is None else [self._make(record) for record in block]
