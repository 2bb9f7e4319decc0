"""What comes out of an operator in a harness, kept in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.runtime.task.output import Emit, Output
from penstock.vocabulary.time.generators import Watermark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["Emitted", "HarnessOutput", "StatusChange"]


class Emitted(NamedTuple):
    """A record that came out; ``tag`` is the id of its side output, ``None`` for the main output."""

    value: Any
    timestamp: int | None = None
    tag: str | None = None


class StatusChange(NamedTuple):
    """The operator became idle, or active again."""

    is_idle: bool


class HarnessOutput(Output):
    """Keeps whatever is emitted, to whatever tag.

    Attributes:
        log: Records, watermarks and changes of status in their order.
        records: The records of the main output, as ``(value, timestamp)``.
        sides: The records of side outputs by their tags, as ``(value, timestamp)``.
        watermarks: The watermarks.
        statuses: The changes between idle (True) and active (False).
    """

    __slots__ = ("log", "records", "sides", "statuses", "watermarks")

    def __init__(self) -> None:
        self.log: list[Emitted | Watermark | StatusChange] = []
        self.records: list[tuple[Any, int | None]] = []
        self.sides: dict[str, list[tuple[Any, int | None]]] = {}
        self.watermarks: list[int] = []
        self.statuses: list[bool] = []
        super().__init__([_Receiver(self)])

    def side(self, tag_id: str) -> Emit:
        """Return where records of a side output are noted."""
        return lambda values, timestamps: self.note(values, timestamps, tag_id)

    def note(self, values: Values, timestamps: Timestamps, tag_id: str | None = None) -> None:
        """Note records."""
        target = self.records if tag_id is None else self.sides.setdefault(tag_id, [])
        times: Iterable[int | None] = [None] * len(values) if timestamps is None else timestamps
        pairs = list(zip(values, times, strict=True))
        target.extend(pairs)
        self.log.extend(Emitted(value, time, tag_id) for value, time in pairs)

    def note_watermark(self, timestamp: int) -> None:
        """Note a watermark."""
        self.watermarks.append(timestamp)
        self.log.append(Watermark(timestamp))

    def note_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Note a change between idle and active."""
        self.statuses.append(is_idle)
        self.log.append(StatusChange(is_idle))


class _Receiver:
    def __init__(self, output: HarnessOutput) -> None:
        self.process = output.note
        self.process_watermark = output.note_watermark
        self.process_status = output.note_status

    def note_failure(self, error: BaseException) -> None:
        """Leave the error as it is: nothing is done here that could fail."""
