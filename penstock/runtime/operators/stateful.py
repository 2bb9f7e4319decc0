"""``map_with_state``, ``flat_map_with_state`` and ``filter_with_state``: one state value per key, handed in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.operators.stateless import FunctionOperator
from penstock.statestore.copying import as_it_is, copied
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.state.descriptors import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["StatefulOperator"]


class StatefulOperator(FunctionOperator):
    """Calls ``function(record, state or None)``, which returns a result and the new state (``None`` clears it)."""

    def __init__(self, kind: str, function: Any, key: Callable[[Any], Any]) -> None:
        super().__init__(function)
        self._kind = kind
        self._key: Callable[[Any], Any] = key

    def open(self) -> None:
        """Get the state."""
        super().open()
        self._state = self.context.keyed_state().value_state(ValueStateDescriptor("_with_state", None))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record and its key's state through the function."""
        call, key_of, state, keys = self.function, self._key, self._state, self.context.keys
        take = {"map": _take_one, "flat_map": _take_all, "filter": _take_if}[self._kind]
        hand_over = copied if self.protects else as_it_is
        results: Values = []
        times: Timestamps = None if timestamps is None else []
        value = NO_RECORD
        try:
            for position, value in enumerate(values):
                keys.key = key_of(value)
                answer = call(value, state.value())
                if type(answer) is not tuple or len(answer) != 2:
                    problem = (
                        f"The function returned {shown(answer)}, but it returns a pair: a result and the new state."
                    )
                    raise UnusableValueError(problem, call, value)
                result, kept = answer
                state.update(kept)
                take(results, value, result, hand_over)
                if times is not None and timestamps is not None:
                    times.extend([timestamps[position]] * (len(results) - len(times)))
        except BaseException as error:
            note_record(error, value)
            raise
        if results:
            self.output.emit(results, times)


def _take_one(results: Values, value: Any, result: Any, hand_over: Callable[[Any], Any]) -> None:
    results.append(hand_over(result))


def _take_all(results: Values, value: Any, result: Any, hand_over: Callable[[Any], Any]) -> None:
    results.extend(map(hand_over, result or ()))


def _take_if(results: Values, value: Any, result: Any, hand_over: Callable[[Any], Any]) -> None:
    if result:
        results.append(hand_over(value))
