"""Gives a keyed operator its input key by key, as Flink does in batch.

The records of a key come in the order of their timestamps; of several inputs, those of the first come first where times
are equal. Between two records of a key no other key has its turn: when all have come, its timers fire, and its state
is dropped.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.runtime.batch.operators import LastValues
from penstock.runtime.batch.sorted_runs import SortedRuns, sort_limit
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.statestore.heap.backend import HeapStateBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.runtime.batch.rows import Place, Row
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.exchange.key_selection import KeyFunction
    from penstock.runtime.task.subtask import Subtask

__all__ = ["KeyedInput"]

_time = itemgetter(0)
_input = itemgetter(1)
_AT_A_TIME = 4096

_Run = tuple[int, "Values", "Timestamps"]
"""The input, the records and their timestamps."""


class KeyedInput:
    """Reads the keyed rows of a subtask, bucket by bucket.

    Args:
        subtask: Who gets the records.
        inputs: Which input of the head operator an edge leads to.
        settle: Finishes what the operators have begun.
        memory: How many bytes the records of a bucket may take before they are sorted in files.
    """

    def __init__(self, subtask: Subtask, inputs: Mapping[int, int], settle: Callable[[], None], memory: int) -> None:
        head = subtask.chain.head
        self._subtask = subtask
        self._head = head
        self._inputs = inputs
        self._settle = settle
        self._limit = sort_limit(memory)
        self._entries = (head.process, head.process_second)
        functions: tuple[KeyFunction, ...] = head.key_functions
        self._key_functions = functions if len(functions) > 1 else None
        self._key_function = functions[0]
        state = head.context.state
        assert isinstance(state, HeapStateBackend)
        self._state = state

    def read(self, rows: Iterable[tuple[Row, Place]]) -> Iterator[None]:
        """Put all records through the operator; yields now and then, so that results can be sent on."""
        for _, bucket in groupby(rows, key=lambda row: row[1].bucket):
            yield from self._read_bucket(bucket)

    def _read_bucket(self, rows: Iterator[tuple[Row, Place]]) -> Iterator[None]:
        takes_all = isinstance(self._head, LastValues)
        runs: list[_Run] = []
        size = 0
        for row, place in rows:
            number = self._inputs[place.edge]
            for _, values, timestamps in decode(row.block):
                self._subtask.records_in += len(values)
                if takes_all and timestamps is None:
                    self._head.process(values, None)
                else:
                    runs.append((number, values, timestamps))
            size += len(row.block)
            if size > self._limit and runs:
                yield from self._read_sorted(runs, rows)
                return
        if takes_all:
            self._process_all(runs)
        elif self._key_functions is None:
            self._process_one_input(runs)
        else:
            self._process_two_inputs(runs)
        yield

    # -- in memory

    def _process_all(self, runs: list[_Run]) -> None:
        """Give all keys at once to an operator that keeps only one value of each."""
        values, times = _joined(runs)
        if values:
            self._head.process(*_sorted_by_time(values, times))
        self._head.end_key()

    def _process_one_input(self, runs: list[_Run]) -> None:
        values, times = _joined(runs)
        groups: dict[Any, tuple[Values, list[int]]] = {}
        if times is None:
            for key, value in zip(self._key_function.keys_of(values), values, strict=True):
                group = groups.get(key)
                if group is None:
                    groups[key] = ([value], [])
                else:
                    group[0].append(value)
        else:
            for key, value, time in zip(self._key_function.keys_of(values), values, times, strict=True):
                group = groups.get(key)
                if group is None:
                    groups[key] = ([value], [time])
                else:
                    group[0].append(value)
                    group[1].append(time)
        number = runs[0][0] if runs else 0
        del runs, values
        for of_key, its_times in groups.values():
            self._process(number, *_sorted_by_time(of_key, its_times if times is not None else None))
            self._end_key()

    def _process_two_inputs(self, runs: list[_Run]) -> None:
        groups: dict[Any, list[tuple[int, int, Any]]] = {}
        for number, values, timestamps in runs:
            times = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
            for key, value, time in zip(self._keys_of(number, values), values, times, strict=True):
                groups.setdefault(key, []).append((time, number, value))
        for records in groups.values():
            records.sort(key=_input)
            records.sort(key=_time)
            self._process_mixed(records)
            self._end_key()

    def _process_mixed(self, records: list[tuple[int, int, Any]]) -> None:
        """Process records of one key, in their order, in runs of one input each."""
        for number, run in groupby(records, key=_input):
            taken = list(run)
            self._process(number, [value for _, _, value in taken], [time for time, _, _ in taken])

    # -- with files

    def _read_sorted(self, runs: list[_Run], rows: Iterator[tuple[Row, Place]]) -> Iterator[None]:
        """Sort a bucket that is too large for memory in files, and read it key by key."""
        with SortedRuns(self._limit) as sorting:
            for number, values, timestamps in runs:
                sorting.add(number, list(self._keys_of(number, values)), values, timestamps)
            runs.clear()
            sorting.flush()
            for row, place in rows:
                number = self._inputs[place.edge]
                for _, values, timestamps in decode(row.block):
                    self._subtask.records_in += len(values)
                    sorting.add(number, list(self._keys_of(number, values)), values, timestamps, len(row.block))
            for records in sorting.keys(_AT_A_TIME):
                if records is None:
                    self._end_key()
                else:
                    self._process_mixed(records)
                yield

    def _keys_of(self, number: int, values: Values) -> Iterable[Any]:
        function = self._key_function if self._key_functions is None else self._key_functions[number]
        return function.keys_of(values)

    # -- what the operator is told

    def _process(self, number: int, values: Values, times: Timestamps) -> None:
        """Process a run; records without a timestamp, which come first, have no time."""
        if times is not None and times[0] == MIN_TIMESTAMP:
            count = next((place for place, time in enumerate(times) if time != MIN_TIMESTAMP), len(times))
            self._entries[number](values[:count], None)
            self._settle()
            values, times = values[count:], times[count:]
        if values:
            self._entries[number](values, times)
            self._settle()

    def _end_key(self) -> None:
        self._head.end_key()
        self._settle()
        self._state.forget_all()


def _joined(runs: list[_Run]) -> tuple[Values, Timestamps]:
    """Return all records of some runs of one input, with timestamps if some have them."""
    values: Values = []
    times: list[int] = []
    has_times = any(timestamps is not None for _, _, timestamps in runs)
    for _, of_run, timestamps in runs:
        values += of_run
        if has_times:
            times += [MIN_TIMESTAMP] * len(of_run) if timestamps is None else timestamps
    return values, times if has_times else None


def _sorted_by_time(values: Values, times: Timestamps) -> tuple[Values, Timestamps]:
    if times is None or len(times) < 2:
        return values, times
    if all(map(int.__le__, times, times[1:])):
        return values, times
    order = sorted(range(len(times)), key=times.__getitem__)
    return [values[place] for place in order], [times[place] for place in order]
