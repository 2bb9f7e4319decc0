"""JSON lines: each line is a JSON value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.lines import LineFormat
from penstock.connectors.files.formats.record_shape import from_mapping

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JsonLinesFormat"]


class JsonLinesFormat(LineFormat[Any]):
    """Reads each line as a JSON value. Empty lines are left out.

    Args:
        charset_name: The encoding of the files.
        record_type: What objects become: ``dict``, ``Row``, or a class that takes the fields as keyword arguments, such
            as a dataclass.

    Example:
        >>> JsonLinesFormat().parse_lines(['{"id": 1}', "[2, 3]"])
        [{'id': 1}, [2, 3]]
    """

    def __init__(self, charset_name: str = "UTF-8", *, record_type: Callable[..., Any] = dict) -> None:
        super().__init__(charset_name)
        self._make = from_mapping(record_type)

    def parse_line(self, line: str) -> Any:
        """Return the value in a line."""
        value = _DECODER.decode(line)
        return value if self._make is None else self._make(value)

    def parse_lines(self, lines: list[str]) -> list[Any]:
        """Return the values of many lines."""
        decode, make = _DECODER.decode, self._make
        if make is None:
            return [decode(line) for line in lines if line and not line.isspace()]
        return [make(decode(line)) for line in lines if line and not line.isspace()]


_DECODER = json.JSONDecoder()
