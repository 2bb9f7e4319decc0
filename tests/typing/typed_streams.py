"""What a type checker knows of streams: checked by mypy with the package, never run.

``assert_type`` says what is inferred. A line with ``type: ignore`` must be refused; mypy reports those that need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_type

from penstock import (
    Collector,
    CoMapFunction,
    ConnectedStreams,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WindowedStream,
)

Pair = tuple[str, int]


class Length(MapFunction[str, int]):
    def map(self, value: str) -> int:
        return len(value)


class Described(MapFunction[object, str]):
    """Takes records of any type."""

    def map(self, value: object) -> str:
        return repr(value)


class Words(FlatMapFunction[str, str]):
    def flat_map(self, value: str) -> Iterable[str]:
        return value.split()


class Long(FilterFunction[str]):
    def filter(self, value: str) -> bool:
        return len(value) > 3


class First(KeySelector[Pair, str]):
    def get_key(self, value: Pair) -> str:
        return value[0]


class Sum(ReduceFunction[Pair]):
    def reduce(self, value1: Pair, value2: Pair) -> Pair:
        return value1[0], value1[1] + value2[1]


class Halves(ProcessFunction[int, float]):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[float]:
        yield value / 2


class Count(KeyedProcessFunction[str, Pair, int]):
    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield value[1]


class Either(CoMapFunction[str, int, bytes]):
    def map1(self, value: str) -> bytes:
        return value.encode()

    def map2(self, value: int) -> bytes:
        return bytes(value)


def collected(text: str, out: Collector[str]) -> None:
    out.collect(text)


def sources(env: StreamExecutionEnvironment) -> None:
    assert_type(env.from_collection(["a", "b"]), DataStream[str])
    assert_type(env.from_elements(1, 2), DataStream[int])
    assert_type(env.from_sequence(1, 3), DataStream[int])
    assert_type(env.read_text_file("file.txt"), DataStream[str])


def one_record(texts: DataStream[str], numbers: DataStream[int]) -> None:
    assert_type(texts.map(lambda text: (text, len(text))), DataStream[tuple[str, int]])
    assert_type(texts.map(Length()), DataStream[int])
    assert_type(texts.map(len), DataStream[int])
    assert_type(texts.map(Described()), DataStream[str])
    assert_type(texts.filter(lambda text: text), DataStream[str])
    assert_type(texts.filter(Long()), DataStream[str])
    assert_type(texts.flat_map(lambda text: text.split()), DataStream[str])
    assert_type(texts.flat_map(Words()), DataStream[str])
    assert_type(texts.flat_map(collected), DataStream[str])
    assert_type(numbers.process(Halves()), DataStream[float])
    assert_type(numbers.get_side_output(OutputTag[bytes]("late")), DataStream[bytes])


def keyed(pairs: DataStream[Pair]) -> None:
    assert_type(pairs.key_by(lambda pair: pair[0]), KeyedStream[str, Pair])
    assert_type(pairs.key_by(First()), KeyedStream[str, Pair])
    assert_type(pairs.key_by(0), KeyedStream[Any, Pair])
    by_name = pairs.key_by(First())
    assert_type(by_name.key_by(lambda pair: pair[1]), KeyedStream[int, Pair])
    assert_type(by_name.reduce(Sum()), DataStream[Pair])
    assert_type(by_name.reduce(lambda one, other: (one[0], one[1] + other[1])), DataStream[Pair])
    assert_type(by_name.process(Count()), DataStream[int])
    assert_type(by_name.map(lambda pair: pair[1]), DataStream[int])
    assert_type(by_name.map_with_state(lambda pair, seen: (pair[1], True)), DataStream[int])
    windows = by_name.window(TumblingEventTimeWindows.of(1000))
    assert_type(windows, WindowedStream[str, Pair])
    assert_type(windows.reduce(Sum()), DataStream[Pair])


def two_streams(texts: DataStream[str], numbers: DataStream[int]) -> None:
    assert_type(texts.connect(numbers), ConnectedStreams[str, int])
    assert_type(texts.connect(numbers).map(Either()), DataStream[bytes])
    assert_type(texts.union(texts), DataStream[str])


def refused(texts: DataStream[str], numbers: DataStream[int], pairs: DataStream[Pair]) -> None:
    numbers.map(Length())  # type: ignore[arg-type]
    numbers.map(lambda number: number.split())  # type: ignore[attr-defined]
    numbers.filter(Long())  # type: ignore[arg-type]
    texts.process(Halves())  # type: ignore[arg-type]
    pairs.key_by(First()).reduce(lambda one, other: 3)  # type: ignore[arg-type, return-value]
    numbers.connect(texts).map(Either())  # type: ignore[arg-type]
