"""The results of functions: gathered into runs, then emitted to the main output or to the side output of a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.statestore.copying import copied
from penstock.vocabulary.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.output import Output

__all__ = ["PendingResults", "emit_results"]

_MANY = 4096


class PendingResults:
    """The main output of an operator since it last emitted.

    Both lists may be filled while a function is called that emits to a side output. So they stay the same objects
    until :meth:`emit`, which comes when all calls have returned.
    """

    __slots__ = ("_may_be_tagged", "_output", "collected", "protects", "times", "values")

    def __init__(self, output: Output, *, protects: bool, may_be_tagged: bool = True) -> None:
        """Prepare for results; ``may_be_tagged`` says that some may be ``(tag, value)`` pairs for side outputs."""
        self._output = output
        self._may_be_tagged = may_be_tagged
        self.protects = protects
        self.values: Values = []
        self.times: Timestamps = None
        self.collected: Values | None = None
        """What the call under way has given to a collector, which goes behind the other results."""

    @property
    def are_many(self) -> bool:
        """Tell whether so much has been gathered that it should go on."""
        return len(self.values) >= _MANY

    def begin(self, *, has_timestamps: bool) -> None:
        """Prepare for the results of a run; those of the run before have gone on."""
        self.times = [] if has_timestamps else None

    def emit(self) -> None:
        """Let the results go on, each to the output it is meant for."""
        if self.values:
            values, times = self.values, self.times
            self.values = []
            if times is not None:
                self.times = []
            self._emit(values, times)

    def _emit(self, values: Values, times: Timestamps) -> None:
        if self._may_be_tagged:
            emit_results(self._output, values, times)
        else:
            self._output.emit(values, times)

    def emit_aside(self, tag: OutputTag[Any], value: Any, time: int | None) -> None:
        """Send a value to a side output, behind the results that came before it."""
        if self.collected:
            self.values.extend(self.collected)
            if self.times is not None:
                self.times.extend([time] * len(self.collected))  # type: ignore[list-item]
            self.collected.clear()
        if self.values:
            values, times = self.values[:], None if self.times is None else self.times[:]
            self.values.clear()
            if self.times is not None:
                self.times.clear()
            self._emit(values, times)
        emit = self._output.side(tag.tag_id)
        emit([copied(value) if self.protects else value], None if time is None else [time])


def emit_results(output: Output, results: Values, timestamps: Timestamps) -> None:
    """Emit results, each to the output it is meant for."""
    if OutputTag.is_used:
        for result in results:
            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                _emit_tagged(output, results, timestamps)
                return
    output.emit(results, timestamps)


def _emit_tagged(output: Output, results: Values, timestamps: Timestamps) -> None:
    """Emit results in their order: a run of the main output ends where a result for a side output comes."""
    start = 0
    for position, result in enumerate(results):
        if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            if start < position:
                output.emit(results[start:position], None if timestamps is None else timestamps[start:position])
            start = position + 1
            output.side(result[0].tag_id)([result[1]], None if timestamps is None else [timestamps[position]])
    if start < len(results):
        output.emit(results[start:], None if timestamps is None else timestamps[start:])
