"""Rows as lines of CSV that every reader takes apart again."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["csv_lines"]


def csv_lines(rows: Sequence[Sequence[Any]], line_end: str, **dialect: Any) -> str:
    """Return rows as text, with what the ``csv`` module calls a dialect."""
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, **dialect).writerows(rows)
    lines = text.getvalue()
    if "\r" not in lines or "\r" in line_end:
        return lines
    # Older Pythons put quotes only around line breaks that the line end has, but readers break lines at any of them.
    written: list[str] = []
    csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n", **dialect).writerows(rows)
    return "".join(line.removesuffix("\r\n") + line_end for line in written)
