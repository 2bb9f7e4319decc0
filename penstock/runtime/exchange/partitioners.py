"""The exchange writers, one per way of spreading records."""

from __future__ import annotations

import random
from operator import index
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.foundation.keys.groups import WORTHWHILE_KEYS, WORTHWHILE_RUN, TargetCache, targets_of_ints
from penstock.foundation.native import native
from penstock.graph import partitioning as ways
from penstock.runtime.exchange.key_selection import key_function
from penstock.runtime.exchange.writer import ChannelWriter, ExchangeWriter
from penstock.vocabulary.program_checks import UnusableValueError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["make_writer"]


class _Copying(ExchangeWriter):
    """Every record to every target."""

    def _spread(self, values: Values, timestamps: Timestamps) -> None:
        for channel in self._channels:
            self._append(channel, values, timestamps)


class _RoundRobin(ExchangeWriter):
    """Records to the targets in turn."""

    def __init__(self, channels: Sequence[ChannelWriter], start: int) -> None:
        super().__init__(channels)
        self._next = start % len(channels)

    def _spread(self, values: Values, timestamps: Timestamps) -> None:
        count = len(self._channels)
        for offset in range(min(count, len(values))):
            channel = self._channels[(self._next + offset) % count]
            times = None if timestamps is None else timestamps[offset::count]
            self._append(channel, values[offset::count], times)
        self._next = (self._next + len(values)) % count


class _Choosing(ExchangeWriter):
    """Records to the target that a function of the record names."""

    def __init__(self, channels: Sequence[ChannelWriter], choose: Callable[[Any], int]) -> None:
        super().__init__(channels)
        self._choose = choose

    def _spread(self, values: Values, timestamps: Timestamps) -> None:
        choose = self._choose
        runs = [channel.open_run(has_timestamps=timestamps is not None) for channel in self._channels]
        puts = [run[0].append for run in runs]
        if timestamps is None:
            value = NO_RECORD
            try:
                for value in values:
                    puts[choose(value)](value)
            except BaseException as error:
                note_record(error, value)
                raise
            return
        times = [run[1].append for run in runs]
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                target = choose(value)
                puts[target](value)
                times[target](timestamp)
        except BaseException as error:
            note_record(error, value)
            raise


def _spread_in_python(
    values: Values,
    keys: Iterable[Any],
    timestamps: Timestamps,
    targets: TargetCache,
    _: int,
    runs: list[Values],
    times: list[list[int]],
) -> None:
    """Append each record, and its timestamp, to the run of the subtask that owns its key."""
    chosen = map(targets.__getitem__, keys)
    puts = [run.append for run in runs]
    if timestamps is None:
        for value, target in zip(values, chosen, strict=True):
            puts[target](value)
    else:
        put_times = [run.append for run in times]
        for value, timestamp, target in zip(values, timestamps, chosen, strict=True):
            puts[target](value)
            put_times[target](timestamp)


_spread_by_key = _spread_in_python if native is None else native.spread_by_key


class _ByKey(ExchangeWriter):
    """Records to the subtask that owns their key."""

    def __init__(self, channels: Sequence[ChannelWriter], key: Callable[[Any], Any], max_parallelism: int) -> None:
        super().__init__(channels)
        self.call = "key_by"
        self.key_function = key_function(key)
        self._keys_of = self.key_function.keys_of
        self._max_parallelism = max_parallelism
        self._cache = TargetCache(len(channels), max_parallelism)
        self._has_many_keys = False

    def _spread(self, values: Values, timestamps: Timestamps) -> None:
        keys: Any = self._keys_of(values)
        if self._has_many_keys and len(values) >= WORTHWHILE_RUN:
            keys = list(keys)
            if self._spread_ints(values, keys, timestamps):
                return
        runs = [channel.open_run(has_timestamps=timestamps is not None) for channel in self._channels]
        _spread_by_key(
            values,
            keys,
            timestamps,
            self._cache,
            self._max_parallelism,
            [run[0] for run in runs],
            [run[1] for run in runs],
        )
        # The accelerator does not remember numbers in the first place.
        self._has_many_keys = self._has_many_keys or (native is None and len(self._cache) > WORTHWHILE_KEYS)

    def _spread_ints(self, values: Values, keys: list[Any], timestamps: Timestamps) -> bool:
        """Compute the targets of a run whose keys are ints, instead of remembering that of each; tell whether so."""
        targets = targets_of_ints(keys, len(self._channels), self._max_parallelism)
        if targets is None:
            return False
        self._cache.clear()
        runs = [channel.open_run(has_timestamps=timestamps is not None) for channel in self._channels]
        puts = [run[0].append for run in runs]
        for value, target in zip(values, targets, strict=True):
            puts[target](value)
        if timestamps is not None:
            times = [run[1].append for run in runs]
            for timestamp, target in zip(timestamps, targets, strict=True):
                times[target](timestamp)
        return True


class _ByPartitioner(_Choosing):
    """Records to the target that a partitioner of the program names for their key, which may be anything."""

    def __init__(self, channels: Sequence[ChannelWriter], way: ways.Custom) -> None:
        key = key_function(way.key, is_checked=False)
        super().__init__(channels, _checked(way.partition, key, len(channels)))
        self.call = "partition_custom"
        self.choice = way.partition
        self.key_function = key


def _checked(partition: Callable[[Any, int], int], key: Callable[[Any], Any], count: int) -> Callable[[Any], int]:
    def choose(value: Any) -> int:
        target = partition(key(value), count)
        if type(target) is not int:
            target = _whole(target, partition, value, count)
        if not 0 <= target < count:
            raise _no_target(target, partition, value, count)
        return target

    return choose


def _whole(target: Any, partition: Any, value: Any, count: int) -> int:
    if isinstance(target, bool) or not hasattr(target, "__index__"):
        raise _no_target(target, partition, value, count)
    return int(index(target))


def _no_target(target: Any, partition: Any, value: Any, count: int) -> UnusableValueError:
    problem = f"The partitioner returned {shown(target)}, but it must return an int, 0 to {count - 1}."
    return UnusableValueError(problem, partition, value)


def make_writer(
    way: ways.Partitioning, channels: Sequence[ChannelWriter], *, subtask: int, max_parallelism: int
) -> ExchangeWriter:
    """Return the writer for a way of spreading; ``channels`` are those that the subtask is linked to."""
    if len(channels) == 1 and not isinstance(way, ways.Custom):
        return ExchangeWriter(channels)
    match way:
        case ways.Broadcast():
            return _Copying(channels)
        case ways.Rebalance() | ways.Rescale():
            return _RoundRobin(channels, subtask)
        case ways.Shuffle():
            pick, count = random.Random(subtask).randrange, len(channels)
            return _Choosing(channels, lambda _: pick(count))
        case ways.Custom():
            return _ByPartitioner(channels, way)
        case ways.KeyGroups():
            return _ByKey(channels, way.key, max_parallelism)
        case ways.Global():
            return _ToFirst(channels)
        case _:
            message = f"no writer for {way}"
            raise TypeError(message)


class _ToFirst(ExchangeWriter):
    """Every record to the first target; the others get control elements only."""
