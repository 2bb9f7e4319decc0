"""The worked cases of patterns on Spark, all of them as pipelines of one job, with each state backend."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    OutputTag,
    StreamExecutionEnvironment,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.cep import CEP, PatternProcessFunction, PatternWarning, TimedOutPartialMatchHandler
from tests.spark.jobs import collect
from tests.unit.cep.notation import Case, Event, load_cases

CASES = load_cases()
LATE, TIMED_OUT = OutputTag("late"), OutputTag("timed out")
SPAN = 1000
"""Each case has a second of its own, in which it ends before the next one begins."""

Record = tuple[int, Event | None, int]
"""The number of a case, an event or none, and the time of the event or of a watermark."""


class Marks(WatermarkGenerator[Any]):
    """Emits the watermarks that stand between the events."""

    def on_event(self, event: Record, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[1] is None:
            output.emit_watermark(Watermark(event[2]))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        return


class Shown(PatternProcessFunction[Event, Any], TimedOutPartialMatchHandler[Event]):
    """Shows matches as the cases write them, their events sorted."""

    def __init__(self, number: int) -> None:
        self._number = number

    def process_match(self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context) -> Iterator[Any]:
        yield self._number, "match", self._text(match)

    def process_timed_out_match(
        self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context
    ) -> Iterator[Any]:
        yield TIMED_OUT, (self._number, "timed out", f"{self._text(match)} @{ctx.timestamp() - base(self._number)}")

    def _text(self, match: dict[str, list[Event]]) -> str:
        return " ".join(sorted(event.id for events in match.values() for event in events))


def base(number: int) -> int:
    return (number + 1) * SPAN


def records() -> list[Record]:
    found: list[Record] = []
    for number, case in enumerate(CASES):
        found += [(number, event, base(number) + (time or 0)) for event, time in case.steps()]
        found.append((number, None, base(number) + SPAN - 100))
    return found


def pipeline(stream: DataStream[Any], number: int, case: Case) -> DataStream[Any]:
    events: Any = stream.filter(lambda record: record[0] == number and record[1] is not None).map(lambda r: r[1])
    if case.is_keyed:
        events = events.key_by(lambda event: event.key)
    compare = (lambda one, other: int(one.price - other.price)) if case.has_comparator else None
    found = CEP.pattern(events, case.build(), compare).side_output_late_data(LATE)
    shown = (found.in_processing_time() if case.is_processing_time else found).process(Shown(number))
    late = shown.get_side_output(LATE).map(lambda event: (number, "late", event.id))
    return shown.union(shown.get_side_output(TIMED_OUT), late)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend], ids=["heap", "rocksdb"])
def test_all_cases(backend: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.set_state_backend(backend())
    strategy = WatermarkStrategy.for_generator(Marks).with_timestamp_assigner(lambda record, _: record[2])
    stream = env.from_collection(records()).assign_timestamps_and_watermarks(strategy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        first, *others = [pipeline(stream, number, case) for number, case in enumerate(CASES)]
    found: dict[tuple[int, str], Counter[str]] = {}
    for number, kind, text in collect(first.union(*others)):
        found.setdefault((number, kind), Counter())[text] += 1
    wrong = {}
    for number, case in enumerate(CASES):
        for kind, expected in {"match": case.matches, "timed out": case.timed_out, "late": case.late}.items():
            if expected is None:
                continue
            wanted = Counter(" ".join(sorted(text.split())) for text in expected)
            got = Counter(
                {" ".join(sorted(text.split())): count for text, count in found.get((number, kind), {}).items()}
            )
            if got != wanted:
                wrong[case.number, kind] = (got, wanted)
    assert wrong == {}
