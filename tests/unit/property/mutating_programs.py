"""Random programs whose functions change records, and what they give when records are handed over singly, as copies.

A record is a dictionary ``{"id": ..., "log": [...]}``. Functions change it before and after they emit it, emit one
object several times, and keep what they were given.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from penstock import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)

__all__ = ["KINDS", "build", "programs", "reference"]

Record = dict[str, Any]


class ChangeAndReturn(MapFunction[Record, Record]):
    def map(self, value: Record) -> Record:
        value["log"].append("changed")
        return value


class ReturnOneObject(MapFunction[Record, Record]):
    def __init__(self) -> None:
        self.made: Record = {"id": -1, "log": []}

    def map(self, value: Record) -> Record:
        self.made["id"] = value["id"]
        self.made["log"].append(value["id"])
        del self.made["log"][:-3]
        return self.made


class ShareAPart(MapFunction[Record, Record]):
    def __init__(self) -> None:
        self.log: list[Any] = []

    def map(self, value: Record) -> Record:
        self.log.append(value["id"])
        del self.log[:-2]
        return {"id": value["id"], "log": self.log}


class ChangeTheLast(MapFunction[Record, Record]):
    def __init__(self) -> None:
        self.last: Record = {"log": []}

    def map(self, value: Record) -> Record:
        self.last["log"].append("too late")
        self.last = value
        return value


class KeepAndChange(FilterFunction[Record]):
    def __init__(self) -> None:
        self.kept: list[Record] = []

    def filter(self, value: Record) -> bool:
        for record in self.kept:
            record["id"] = -5
        self.kept = [*self.kept[-1:], value]
        return bool(value["id"] % 3)


class YieldTwice(FlatMapFunction[Record, Record]):
    def flat_map(self, value: Record) -> Iterator[Record]:
        value["log"].append("first")
        yield value
        value["log"].append("second")
        value["id"] += 1
        yield value
        value["log"].clear()


class ReturnAList(FlatMapFunction[Record, Record]):
    def flat_map(self, value: Record) -> list[Record]:
        return [value, value, {"id": value["id"], "log": value["log"]}]


class Gather(KeyedProcessFunction[int, Record, Record]):
    def open(self, runtime_context: Any) -> None:
        self.log = runtime_context.get_state(ValueStateDescriptor("log", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        log = self.log.value() or []
        log.append(value["id"])
        del log[:-3]
        self.log.update(log)
        yield {"id": value["id"], "log": log}
        value["log"] = log
        yield value


class AddUp(ReduceFunction[Record]):
    def reduce(self, value1: Record, value2: Record) -> Record:
        value1["id"] += value2["id"]
        value1["log"].append(value2["id"])
        del value1["log"][:-3]
        return value1


KINDS: list[type[Any]] = [
    ChangeAndReturn, ReturnOneObject, ShareAPart, ChangeTheLast, KeepAndChange, YieldTwice, ReturnAList, Gather, AddUp,
]  # fmt: skip


def programs() -> st.SearchStrategy[list[type[Any]]]:
    """Return programs of up to four steps."""
    return st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)


def key_of(record: Record) -> int:
    return record["id"] % 2  # type: ignore[no-any-return]


def build(env: StreamExecutionEnvironment, program: list[type[Any]], records: list[Record]) -> Any:
    """Return the stream that a program makes of some records."""
    stream: Any = env.from_collection(records)
    for kind in program:
        if issubclass(kind, MapFunction):
            stream = stream.map(kind())
        elif issubclass(kind, FilterFunction):
            stream = stream.filter(kind())
        elif issubclass(kind, FlatMapFunction):
            stream = stream.flat_map(kind())
        elif issubclass(kind, ReduceFunction):
            stream = stream.key_by(key_of).reduce(kind())
        else:
            stream = stream.key_by(key_of).process(kind())
    return stream


class _State:
    """A state that keeps and returns copies, as one on disk does."""

    def __init__(self) -> None:
        self.key: Any = None
        self._values: dict[Any, Any] = {}

    def value(self) -> Any:
        return copy.deepcopy(self._values.get(self.key))

    def update(self, value: Any) -> None:
        self._values[self.key] = copy.deepcopy(value)

    def get_state(self, _: Any) -> _State:
        return self


def _call_of(kind: type[Any]) -> Callable[[Record], Any]:
    """Return what a step makes of one record: any number of results, one after the other."""
    function, state = kind(), _State()
    if isinstance(function, MapFunction):
        return lambda record: [function.map(record)]
    if isinstance(function, FilterFunction):
        return lambda record: [record] if function.filter(record) else []
    if isinstance(function, FlatMapFunction):
        return function.flat_map  # type: ignore[no-any-return]
    if isinstance(function, ReduceFunction):

        def reduce(record: Record) -> list[Record]:
            state.key = key_of(record)
            known = state.value()
            result = record if known is None else function.reduce(known, record)
            state.update(result)
            return [result]

        return reduce
    function.open(state)

    def process(record: Record) -> Iterator[Record]:
        state.key = key = key_of(record)
        for result in function.process_element(record, None):
            yield result
            state.key = key

    return process


def reference(program: list[type[Any]], records: list[Record]) -> list[Record]:
    """Return what comes out when each record goes through all steps before the next one is looked at."""
    calls = [_call_of(kind) for kind in program]
    found: list[Record] = []

    def push(step: int, record: Record) -> None:
        if step == len(calls):
            found.append(record)
            return
        for result in calls[step](record):
            push(step + 1, copy.deepcopy(result))

    for record in records:
        push(0, copy.deepcopy(record))
    return found
