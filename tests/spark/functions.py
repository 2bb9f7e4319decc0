"""Functions of test programs. Workers import this module by its name, so it imports no test tool."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    FlatMapFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ParallelSourceFunction,
    ProcessFunction,
    ReducingStateDescriptor,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    Types,
    ValueStateDescriptor,
)

ODD = OutputTag("odd", Types.INT())


class Counter(MapFunction):
    """Adds to a number that is kept per key (W-03)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def map(self, value: int) -> int:
        total = (self.total.value() or 0) + value
        self.total.update(total)
        return total


class ValueStateMean(FlatMapFunction):
    """Emits the mean from the second record on; may forget after it emitted (W-04, W-05)."""

    def __init__(self, *, is_clearing: bool) -> None:
        self.is_clearing = is_clearing

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("mean", Types.TUPLE([Types.INT(), Types.FLOAT()]))
        self.state = runtime_context.get_state(descriptor)

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, float]]:
        count, total = self.state.value() or (0, 0.0)
        count, total = count + 1, total + value[1]
        self.state.update((count, total))
        if count >= 2:
            yield value[0], total / count
            if self.is_clearing:
                self.state.clear()


class ListStateMean(FlatMapFunction):
    """Emits the mean of three records (W-06)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_list_state(ListStateDescriptor("values", Types.FLOAT()))

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, float]]:
        self.state.add(value[1])
        values = list(self.state.get())
        if len(values) >= 3:
            self.state.clear()
            yield value[0], sum(values) / len(values)


class MapStateMean(FlatMapFunction):
    """Emits the mean of three records, kept under random keys (W-07)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_map_state(MapStateDescriptor("values", Types.STRING(), Types.FLOAT()))

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, float]]:
        self.state.put(str(uuid.uuid4()), value[1])
        values = list(self.state.values())
        if len(values) >= 3:
            self.state.clear()
            yield value[0], sum(values) / len(values)


class ReducingStateMean(FlatMapFunction):
    """Divides a keyed sum by a counter that is a plain field, which all keys of a subtask share (W-08)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.FLOAT())
        self.sum = runtime_context.get_reducing_state(descriptor)
        self.count = 0

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, float]]:
        self.sum.add(value[1])
        self.count += 1
        yield value[0], self.sum.get() / self.count


class KeyedCountMean(FlatMapFunction):
    """The same with the counter in keyed state (W-08)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.FLOAT())
        self.sum = runtime_context.get_reducing_state(descriptor)
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, float]]:
        self.sum.add(value[1])
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], self.sum.get() / count


class _Contains(AggregateFunction):
    def create_accumulator(self) -> str:
        return "Contains"

    def add(self, value: float, accumulator: str) -> str:
        return f"{accumulator}-{value}"

    def get_result(self, accumulator: str) -> str:
        return accumulator

    def merge(self, a: str, b: str) -> str:
        return a + b


class AggregatingStateText(FlatMapFunction):
    """Appends the values of a key to a text (W-09)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = AggregatingStateDescriptor("text", _Contains(), Types.STRING())
        self.text = runtime_context.get_aggregating_state(descriptor)

    def flat_map(self, value: tuple[int, float]) -> Iterator[tuple[int, str]]:
        self.text.add(value[1])
        yield value[0], self.text.get()


class BufferingSink(SinkFunction):
    """Writes a line for every two records (W-10)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.buffer: list[Any] = []

    def invoke(self, value: Any, context: Any) -> None:
        self.buffer.append(value)
        if len(self.buffer) == 2:
            with open(self.path, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(f"{self.buffer}\n")
            self.buffer.clear()


class WithSubtask(MapFunction):
    """Puts the number of the subtask in front of each record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[int, Any]:
        return self.index, value


class SplitOdd(ProcessFunction):
    """Sends even numbers on and odd ones to a side output."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


class Ticks(SourceFunction):
    """Counts up for ever, or to a limit, with a pause after each number."""

    def __init__(self, pause: float, limit: int | None = None) -> None:
        self.pause = pause
        self.limit = limit
        self.is_running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        while self.is_running and number != self.limit:
            ctx.collect(number)
            number += 1
            time.sleep(self.pause)

    def cancel(self) -> None:
        self.is_running = False


class ParallelTicks(Ticks, ParallelSourceFunction):
    """The same in several subtasks."""


class Stamps(Ticks):
    """Emits the time of day, with a pause after each."""

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        while self.is_running and number != self.limit:
            time.sleep(self.pause)
            ctx.collect(time.time())
            number += 1
