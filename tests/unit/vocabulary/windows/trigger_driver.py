"""One key's windows under a trigger: timers fire in order, state is kept per window and descriptor."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.vocabulary.state.descriptors import ReducingStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.vocabulary.windows.triggers import Trigger, TriggerResult


class FakeState:
    """A value state and a reducing state in one, over a cell that the driver owns."""

    def __init__(self, cells: dict[StateDescriptor, Any], descriptor: StateDescriptor) -> None:
        self.cells = cells
        self.descriptor = descriptor

    def value(self) -> Any:
        assert isinstance(self.descriptor, ValueStateDescriptor)
        return self.cells.get(self.descriptor)

    def update(self, value: Any) -> None:
        assert isinstance(self.descriptor, ValueStateDescriptor)
        self.cells[self.descriptor] = value

    def get(self) -> Any:
        assert isinstance(self.descriptor, ReducingStateDescriptor)
        return self.cells.get(self.descriptor)

    def add(self, value: Any) -> None:
        assert isinstance(self.descriptor, ReducingStateDescriptor)
        old = self.cells.get(self.descriptor)
        self.cells[self.descriptor] = value if old is None else self.descriptor.get_reduce_function().reduce(old, value)

    def clear(self) -> None:
        self.cells.pop(self.descriptor, None)


class FakeTriggerContext(Trigger.OnMergeContext):
    def __init__(self, driver: TriggerDriver, window: Any, merged: list[Any] | None = None) -> None:
        self.driver = driver
        self.window = window
        self.merged = merged or []

    def get_current_processing_time(self) -> int:
        return self.driver.clock

    def get_metric_group(self) -> Any:
        return None

    def get_current_watermark(self) -> int:
        return self.driver.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.driver.processing_timers.add((time, self.window))

    def register_event_time_timer(self, time: int) -> None:
        self.driver.event_timers.add((time, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.driver.processing_timers.discard((time, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self.driver.event_timers.discard((time, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> FakeState:
        return FakeState(self.driver.state[self.window], state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        target = self.get_partitioned_state(state_descriptor)
        for window in self.merged:
            if state_descriptor in self.driver.state[window]:
                target.add(self.driver.state[window].pop(state_descriptor))


class TriggerDriver:
    """Feeds a trigger and writes down what it does.

    ``firings`` holds (window, contents) in order; a purge empties the contents.
    """

    def __init__(self, trigger: Trigger[Any, Any], *, watermark: int = -(2**63), clock: int = 0) -> None:
        self.trigger = trigger
        self.watermark = watermark
        self.clock = clock
        self.event_timers: set[tuple[int, Any]] = set()
        self.processing_timers: set[tuple[int, Any]] = set()
        self.state: defaultdict[Any, dict[StateDescriptor, Any]] = defaultdict(dict)
        self.contents: defaultdict[Any, list[Any]] = defaultdict(list)
        self.firings: list[tuple[Any, list[Any]]] = []
        self.merged_away: set[Any] = set()

    def context(self, window: Any, merged: list[Any] | None = None) -> FakeTriggerContext:
        return FakeTriggerContext(self, window, merged)

    def element(self, value: Any, timestamp: int, window: Any) -> TriggerResult:
        self.contents[window].append(value)
        return self._apply(self.trigger.on_element(value, timestamp, window, self.context(window)), window)

    def advance_watermark(self, to: int) -> None:
        # As Flink does it: the watermark is set first, and timers set by a firing fire in the same advance.
        self.watermark = to
        while due := sorted(timer for timer in self.event_timers if timer[0] <= to):
            time, window = due[0]
            self.event_timers.discard(due[0])
            if window not in self.merged_away:
                self._apply(self.trigger.on_event_time(time, window, self.context(window)), window)

    def advance_clock(self, to: int) -> None:
        self.clock = to
        while due := sorted(timer for timer in self.processing_timers if timer[0] <= to):
            time, window = due[0]
            self.processing_timers.discard(due[0])
            if window not in self.merged_away:
                self._apply(self.trigger.on_processing_time(time, window, self.context(window)), window)

    def merge(self, windows: list[Any], result: Any) -> None:
        # As in Flink: when a window that was merged away is cleared, its mergeable state has already moved on, so a
        # timer remembered there stays behind. Timers of such windows are ignored when they fire.
        self.trigger.on_merge(result, self.context(result, windows))
        for window in windows:
            self.contents[result] += self.contents.pop(window, [])
            if window != result:
                self.trigger.clear(window, self.context(window))
                self.merged_away.add(window)

    def timers_of(self, window: Any) -> set[int]:
        return {time for time, owner in self.event_timers | self.processing_timers if owner == window}

    def clear(self, window: Any) -> None:
        self.trigger.clear(window, self.context(window))

    def counts(self) -> list[int]:
        return [len(contents) for _, contents in self.firings]

    def is_clean(self) -> bool:
        return not self.event_timers and not self.processing_timers and not any(self.state.values())

    def _apply(self, result: TriggerResult, window: Any) -> TriggerResult:
        if result.is_fire() and self.contents[window]:
            self.firings.append((window, list(self.contents[window])))
        if result.is_purge():
            self.contents[window].clear()
        return result
