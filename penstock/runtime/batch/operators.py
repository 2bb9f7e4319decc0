"""The operators that are others in batch.

Aggregations give the last value of each key only. Windows of all kinds run on the general operator: with one key at a
time there is nothing to be gained from treating the windows of all keys together.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock.graph import steps
from penstock.graph.multi_input_steps import CoGroupStep
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.joins.window import build_plain_window_join
from penstock.runtime.operators.rolling import ReduceOperator, RollingOperator
from penstock.runtime.windows.operator import WindowOperator

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.operators.operator import Operator

__all__ = ["BATCH_BUILDERS", "LastValues"]


class LastValues(ReduceOperator):
    """Keeps what the records of each key give, for any number of keys, and emits it when the keys end.

    As in Flink, results belong to the end of time.
    """

    def end_key(self) -> None:
        """Emit the result of each key there is."""
        entries = self._entries
        if entries:
            self.output.emit(list(entries.values()), list(repeat(MAX_TIMESTAMP, len(entries))))
            entries.clear()

    def _emit(self, results: Values, timestamps: Timestamps) -> None:
        """Emit nothing: only the last results count."""


class _LastFieldValues(LastValues, RollingOperator):
    """The same for ``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of one field."""


BATCH_BUILDERS: dict[type[steps.Step], Callable[[Any], Operator]] = {
    steps.ReduceStep: lambda step: LastValues(step.function, step.key),
    steps.RollingStep: lambda step: _LastFieldValues(step.kind, step.position, step.key, step.location),
    steps.WindowStep: WindowOperator,
    CoGroupStep: build_plain_window_join,
}
"""What makes an operator of each kind of step that is another one in batch."""
