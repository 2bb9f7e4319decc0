"""What flows between subtasks.

Records travel in runs: a list of values beside a list of timestamps (``None`` where the records have none), so that an
operator pays for a call per run, not per record. Control elements (watermarks, idleness, barriers, the end) stand
between runs, at exactly the position they had. All elements are tuples whose first field is one of the kinds below:
tuples are what pickle moves fastest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.foundation.native import native

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BARRIER",
    "END",
    "END_OF_INPUT",
    "MAX_TIMESTAMP",
    "MIN_TIMESTAMP",
    "RECORDS",
    "STATUS",
    "WATERMARK",
    "Element",
    "Timestamps",
    "Values",
    "are_all",
]

RECORDS = 0
"""``(RECORDS, values, timestamps)``: a run of records."""
WATERMARK = 1
"""``(WATERMARK, timestamp)``: no record at or below this timestamp follows, except late ones."""
STATUS = 2
"""``(STATUS, is_idle)``: the channel takes no part in the watermark, or takes part again."""
BARRIER = 3
"""``(BARRIER, checkpoint_id, options)``: what came before belongs to the checkpoint, what follows does not."""
END = 4
"""``(END,)``: the channel is finished."""

MIN_TIMESTAMP = -(1 << 63)
MAX_TIMESTAMP = (1 << 63) - 1

Values: TypeAlias = list[Any]
Timestamps: TypeAlias = list[int] | None
Element: TypeAlias = tuple[Any, ...]

END_OF_INPUT: Element = (END,)


def _are_all(run: list[Any], kind: type) -> bool:
    """Tell whether all of a list are instances of a class itself, not of one derived from it."""
    return {kind}.issuperset(map(type, run))


are_all: Callable[[list[Any], type], bool] = _are_all if native is None else native.are_all
