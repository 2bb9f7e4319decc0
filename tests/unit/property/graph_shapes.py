"""Random job graphs with the results they must have: what the tests of graph shapes share.

A shape is plain data. It is built as a job, and it is computed over plain lists. No result of its steps depends on the
order in which records arrive: nothing is late, and what a key or window gives comes out when all input has ended.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock.api.data_stream import DataStream
from penstock.api.environment import StreamExecutionEnvironment
from penstock.vocabulary.functions.basic import CoMapFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction, ProcessJoinFunction
from penstock.vocabulary.state.descriptors import ReducingStateDescriptor
from penstock.vocabulary.time.durations import Duration
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.windows.assigners import TumblingEventTimeWindows

Records = list[tuple[int, int]]
"""Values with their timestamps."""

LONG = 1 << 50
THE_END = 1 << 40
ODD = OutputTag("odd")
ONE_INPUT = ("map", "filter", "flat_map", "side", "sum", "window")
TWO_INPUTS = ("union", "connect")
JOINS = ("join", "interval_join")
WAYS = ("rebalance", "rescale", "shuffle", "global_")


@dataclass(frozen=True)
class Step:
    """One step: its kind, the streams it reads, its parallelism (0: the job's), how its first input is spread."""

    kind: str
    inputs: tuple[int, ...]
    parallelism: int = 0
    way: str = ""


@dataclass(frozen=True)
class Shape:
    """Sources and steps; each gives one stream (``side`` gives two), numbered in their order."""

    sources: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]


DIAMOND = Shape(
    ((1, 2, 3, 4, 5),),
    (Step("map", (0,)), Step("filter", (0,)), Step("union", (1, 2)), Step("connect", (3, 0)), Step("join", (4, 4), 2)),
)
USED_FIVE_TIMES = Shape(((1, 2, 3),), tuple(Step("map", (0,), parallelism) for parallelism in (1, 2, 3, 0, 2)))
UNION_OF_DEPTHS = Shape(
    ((1, 2), (3, 4)),
    (
        Step("sum", (0,), 2),
        Step("window", (2,), 3),
        Step("union", (1, 3)),
        Step("union", (4, 0)),
        Step("side", (5,), 2),
        Step("interval_join", (6, 7), 3),
    ),
)
KEYED_BRANCHES = Shape(
    (tuple(range(12)),),
    (
        Step("sum", (0,), 2),
        Step("window", (0,), 3),
        Step("sum", (2,), 1),
        Step("union", (1, 3)),
        Step("join", (1, 2), 3),
        Step("interval_join", (0, 2), 2),
    ),
)
NAMED_SHAPES = {
    "diamond": DIAMOND,
    "used five times": USED_FIVE_TIMES,
    "union of different depths": UNION_OF_DEPTHS,
    "two keyed branches of different parallelism": KEYED_BRANCHES,
}


@st.composite
def shapes(draw: st.DrawFn, most_steps: int = 8, most_parallelism: int = 3) -> Shape:
    """Draw graphs with unions, diamonds, side outputs, joins and different parallelisms."""
    sources = draw(st.lists(st.lists(st.integers(0, 15), max_size=6).map(tuple), min_size=1, max_size=3))
    streams, joins = len(sources), 0
    steps = []
    for _ in range(draw(st.integers(1, most_steps))):
        kinds = ONE_INPUT + TWO_INPUTS + (JOINS if joins < 2 else ())
        kind = draw(st.sampled_from(kinds))
        count = 1 if kind in ONE_INPUT else 2
        inputs = tuple(draw(st.integers(0, streams - 1)) for _ in range(count))
        way = draw(st.sampled_from(["", *WAYS])) if kind in ("map", "filter", "connect") else ""
        steps.append(Step(kind, inputs, draw(st.integers(0, most_parallelism)), way))
        streams += 2 if kind == "side" else 1
        joins += kind in JOINS
    return Shape(tuple(sources), tuple(steps))


def key_of(value: int) -> int:
    return value % 3


class Parity(ProcessFunction[int, int]):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield value if value % 2 == 0 else (ODD, value)


class SumAtTheEnd(KeyedProcessFunction[int, int, int]):
    def open(self, runtime_context: Any) -> None:
        self._sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))

    def process_element(self, value: int, ctx: Any) -> Any:
        self._sum.add(value)
        ctx.timer_service().register_event_time_timer(THE_END)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield self._sum.get()


class DoubleAndNext(CoMapFunction[int, int, int]):
    def map1(self, value: int) -> int:
        return value * 2

    def map2(self, value: int) -> int:
        return value + 1


class Add(ProcessJoinFunction[int, int, int]):
    def process_element(self, left: int, right: int, ctx: Any) -> Any:
        yield left + right


def build(env: StreamExecutionEnvironment, shape: Shape, *, is_parallel: bool) -> DataStream[Any]:
    """Build a shape; the result is one stream of ``(number of the stream, value)``."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(LONG)).with_timestamp_assigner(
        lambda value, _: value
    )
    streams: list[DataStream[Any]] = [
        env.from_collection(values).assign_timestamps_and_watermarks(strategy) for values in shape.sources
    ]
    for step in shape.steps:
        made = _add(step, [streams[number] for number in step.inputs])
        if is_parallel and step.parallelism and step.kind != "union":
            made[0].set_parallelism(step.parallelism)
        streams.extend(made)
    # Lambdas keep what they refer to, so the number is bound when the step is written.
    numbered = [stream.map(lambda value, number=number: (number, value)) for number, stream in enumerate(streams)]
    return numbered[0].union(*numbered[1:])


def _add(step: Step, inputs: list[DataStream[Any]]) -> list[DataStream[Any]]:
    first, last = inputs[0], inputs[-1]
    if step.way:
        first = getattr(first, step.way)()
    made: dict[str, Callable[[], Any]] = {
        "map": lambda: first.map(lambda value: value + 1),
        "filter": lambda: first.filter(lambda value: value % 3 != 1),
        "flat_map": lambda: first.flat_map(lambda value: [value, value + 1]),
        "side": lambda: first.process(Parity()),
        "sum": lambda: first.key_by(key_of).process(SumAtTheEnd()),
        "window": lambda: first.key_by(key_of).window(TumblingEventTimeWindows.of(5)).reduce(lambda a, b: a + b),
        "union": lambda: first.union(last),
        "connect": lambda: first.connect(last).map(DoubleAndNext()),
        "join": lambda: (
            first.join(last)
            .where(key_of)
            .equal_to(key_of)
            .window(TumblingEventTimeWindows.of(5))
            .apply(lambda left, right: left * 3 + right)
        ),
        "interval_join": lambda: first.key_by(key_of).interval_join(last.key_by(key_of)).between(-2, 1).process(Add()),
    }
    stream = made[step.kind]()
    return [stream, stream.get_side_output(ODD)] if step.kind == "side" else [stream]


def expected(shape: Shape) -> Counter[tuple[int, int]]:
    """Compute what comes out of every stream, over plain lists."""
    streams: list[Records] = [[(value, value) for value in values] for values in shape.sources]
    for step in shape.steps:
        streams.extend(_computed(step.kind, [streams[number] for number in step.inputs]))
    return Counter((number, value) for number, records in enumerate(streams) for value, _ in records)


def _computed(kind: str, inputs: list[Records]) -> list[Records]:
    first, last = inputs[0], inputs[-1]
    if kind == "map":
        return [[(value + 1, time) for value, time in first]]
    if kind == "filter":
        return [[(value, time) for value, time in first if value % 3 != 1]]
    if kind == "flat_map":
        return [[(result, time) for value, time in first for result in (value, value + 1)]]
    if kind == "side":
        return [[record for record in first if record[0] % 2 == parity] for parity in (0, 1)]
    if kind == "union":
        return [first + last]
    if kind == "connect":
        return [[(value * 2, time) for value, time in first] + [(value + 1, time) for value, time in last]]
    if kind == "interval_join":
        pairs = [(a, b) for a in first for b in last if key_of(a[0]) == key_of(b[0]) and -2 <= b[1] - a[1] <= 1]
        return [[(a[0] + b[0], max(a[1], b[1])) for a, b in pairs]]
    if kind == "join":
        same = [(a, b) for a in first for b in last if key_of(a[0]) == key_of(b[0]) and a[1] // 5 == b[1] // 5]
        return [[(a[0] * 3 + b[0], a[1] // 5 * 5 + 4) for a, b in same]]
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for value, time in first:
        sums[key_of(value), THE_END if kind == "sum" else time // 5 * 5 + 4] += value
    return [[(total, time) for (_, time), total in sums.items()]]
