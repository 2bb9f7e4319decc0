r"""Plain text: each line is a record, without its ``\n`` or ``\r\n``."""

from __future__ import annotations

from penstock.connectors.files.formats.lines import LineFormat

__all__ = ["TextLineFormat"]


class TextLineFormat(LineFormat[str]):
    """Reads each line as a string; empty lines are records too."""

    def parse_line(self, line: str) -> str:
        """Return the line."""
        return line

    def parse_lines(self, lines: list[str]) -> list[str]:
        """Return the lines."""
        return lines
