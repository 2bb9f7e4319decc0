"""The operator of ``flat_map``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.functions import ListCollector, resolve_function, takes_collector
from penstock.runtime.calls.sliced_calls import SlicedCallsOperator, UnfinishedRun
from penstock.runtime.interpreter_tricks.last_yield import returning
from penstock.statestore.copying import are_fixed, copied_run
from penstock.vocabulary.functions.basic import FlatMapFunction, Function
from penstock.vocabulary.functions.checkpointed import CheckpointedFunction
from penstock.vocabulary.state.descriptors import ListStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["FlatMapOperator"]

_UNDER_WAY: ListStateDescriptor[tuple[Any, int | None, int]] = ListStateDescriptor("calls-under-way")


class FlatMapOperator(SlicedCallsOperator):
    """Any number of results per record.

    A function without state that is checkpointed may be left in the middle of a call when a checkpoint is taken: the
    record is stored with the number of results that were emitted. After a restore the function is called for it again,
    and as many results are skipped. Other functions finish what they have begun first.
    """

    _call: Callable[[Any], Iterable[Any] | None]

    def open(self) -> None:
        """Resolve the function; one that takes a collector is wrapped to return what it collected."""
        super().open()
        call = resolve_function(self.function, FlatMapFunction, "flat_map")
        call = ListCollector.wrap(call, self.results) if takes_collector(call, 1) else returning(call)
        is_keyed = self._key is not None and isinstance(self.function, Function)
        self._is_repeatable = not is_keyed and not isinstance(self.function, CheckpointedFunction)
        self._call = self.with_key(call)
        self._under_way = self.context.operator_state.get_list_state(_UNDER_WAY)
        for value, time, taken in self._under_way.get():
            self._call_again(value, time, taken)
        self._under_way.clear()

    def _call_again(self, value: Any, time: int | None, taken: int) -> None:
        """Have the rest of a call's results emitted that a checkpoint was taken in the middle of."""

        def skipping(value: Any) -> Iterable[Any]:
            return islice(iter(self._call(value) or ()), taken, None)

        run = UnfinishedRun(self, skipping, [value], None if time is None else [time], None, None, skipped=taken)
        run.originals = self._originals(run.values)
        self.unfinished.append(run)

    @property
    def may_be_left(self) -> bool:
        """Tell whether a snapshot may be taken now."""
        return self._is_repeatable or not self.unfinished

    def snapshot(self, checkpoint_id: int) -> None:
        """Put the records whose results have not all been emitted into the operator state."""
        runs = [part for part in self.unfinished if isinstance(part, UnfinishedRun)]
        self._under_way.update(record for run in runs for record in run.records())

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit everything the function returns or yields."""
        if not self._is_repeatable:
            self.put_through(self._call, values, timestamps, None, None)
            return
        originals, known = self._originals(values), len(self.unfinished)
        self.put_through(self._call, values, timestamps, None, None)
        if len(self.unfinished) > known:
            run = self.unfinished[-1]
            assert isinstance(run, UnfinishedRun)
            run.originals = originals

    def _originals(self, values: Values) -> Values:
        """Return the records as a snapshot has to hold them: the function may change what it is given."""
        return copied_run(values) if self.protects and not are_fixed(values) else values
