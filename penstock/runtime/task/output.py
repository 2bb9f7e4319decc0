"""Where an operator's results go: to chained operators, to exchanges, to side outputs.

Everything is resolved when the chain is wired. An operator with one successor calls that successor's method directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from penstock.runtime.exchange.elements import Timestamps, Values
from penstock.statestore.copying import copied_run

__all__ = ["Emit", "Output", "Receiver", "entry_of"]

Emit: TypeAlias = Callable[[Values, Timestamps], None]


class Receiver(Protocol):
    """Takes what an operator emits: a chained operator or an exchange."""

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Take a run of records."""

    def process_watermark(self, timestamp: int) -> None:
        """Take a watermark."""

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Take a change between idle and active."""

    def note_failure(self, error: BaseException) -> None:
        """Note on an error that it was raised here."""


def _nowhere(values: Values, timestamps: Timestamps) -> None:
    """Drop records nobody reads."""


def entry_of(receiver: Receiver, process: Emit | None = None) -> Emit:
    """Return what takes the records of a receiver, by default its ``process``, and notes on errors where they were."""
    take, note = process or receiver.process, receiver.note_failure

    def emit(values: Values, timestamps: Timestamps) -> None:
        try:
            take(values, timestamps)
        except BaseException as error:
            note(error)
            raise

    return emit


def _fan_out(receivers: Sequence[Receiver], *, copies: bool) -> Emit:
    if not receivers:
        return _nowhere
    if len(receivers) == 1:
        return entry_of(receivers[0])
    *others, last = [entry_of(receiver) for receiver in receivers]
    # A receiver may keep or change the records and the lists it is given, so all but one get copies.
    copy = copied_run if copies else list.copy

    def emit(values: Values, timestamps: Timestamps) -> None:
        for process in others:
            process(copy(values), None if timestamps is None else timestamps.copy())
        last(values, timestamps)

    return emit


class Output:
    """The outputs of one operator, main and side."""

    __slots__ = ("_all", "_sides", "emit")

    def __init__(
        self,
        main: Sequence[Receiver],
        sides: Mapping[str, Sequence[Receiver]] | None = None,
        *,
        copies: bool = True,
    ) -> None:
        """Wire an operator to its successors; ``copies`` says that each of several gets records of its own."""
        sides = sides or {}
        self.emit: Emit = _fan_out(main, copies=copies)
        self._sides = {tag: _fan_out(receivers, copies=copies) for tag, receivers in sides.items()}
        self._all = [*main, *(receiver for receivers in sides.values() for receiver in receivers)]

    def side(self, tag_id: str) -> Emit:
        """Return where records of a side output go; nowhere if the program does not read it."""
        return self._sides.get(tag_id, _nowhere)

    def emit_watermark(self, timestamp: int) -> None:
        """Send a watermark to every successor, of side outputs too."""
        for receiver in self._all:
            try:
                receiver.process_watermark(timestamp)
            except BaseException as error:
                receiver.note_failure(error)
                raise

    def emit_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Tell every successor that this operator became idle or active."""
        for receiver in self._all:
            try:
                receiver.process_status(is_idle)
            except BaseException as error:
                receiver.note_failure(error)
                raise
