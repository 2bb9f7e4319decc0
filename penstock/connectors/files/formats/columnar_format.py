"""What formats with columns have in common: which columns are read, and what their rows become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BulkFormat
from penstock.connectors.files.formats.record_shape import check_record_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ColumnarFormat"]


class ColumnarFormat(BulkFormat[Any]):
    """Reads files whose parts can be read by different subtasks.

    Args:
        columns: The columns to read; all without this.
        record_type: What rows become: ``dict``, ``tuple``, ``Row``, or a class that takes the fields as keyword
            arguments, such as a dataclass.
    """

    is_splittable = True

    def __init__(self, columns: Sequence[str] | None = None, *, record_type: Callable[..., Any] = dict) -> None:
        check_record_type(record_type)
        self.columns = None if columns is None else list(columns)
        self.record_type = record_type
