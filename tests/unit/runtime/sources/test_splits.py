"""Reading the splits of a source: order, turns, positions, and event time as the minimum over splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Duration, ProgramError, WatermarkStrategy
from penstock.connectors.collection import CollectionSource
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.sources.splits import READ_LIMIT, Poll, SplitSourceOperator
from penstock.vocabulary.sources.protocol import ReaderContext, Source, SourceSplit, SplitReader
from tests.unit.local_jobs import environment, results
from tests.unit.runtime.operators.operator_bench import Bench


class Fed(Source[int]):
    """A source whose splits give what the test puts into them; ``None`` ends a split."""

    def __init__(self, splits: int) -> None:
        self.feeds: list[list[list[int] | None]] = [[] for _ in range(splits)]
        self.closed: list[str] = []

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        return [SourceSplit(f"split-{number}", number) for number in range(len(self.feeds))]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return FedReader(self, split, position or 0)


class FedReader(SplitReader[int]):
    def __init__(self, source: Fed, split: SourceSplit, position: int) -> None:
        self._source = source
        self._split = split
        self._read = position

    def read(self, limit: int) -> tuple[list[int], list[int] | None] | None:
        feed = self._source.feeds[self._split.detail]
        if not feed:
            return [], None
        values = feed.pop(0)
        if values is None:
            return None
        self._read += len(values)
        return values, None

    def position(self) -> int:
        return self._read

    def close(self) -> None:
        self._source.closed.append(self._split.id)


class SourceBench(Bench):
    operator: SplitSourceOperator

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy | None = None, **settings: Any) -> None:
        super().__init__(SplitSourceOperator(source, strategy), **settings)

    def drain(self) -> Poll:
        """Ask until nothing is there."""
        while (answer := self.operator.poll()) is Poll.EMITTED:
            pass
        return answer


def ascending() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)


def test_splits_take_turns() -> None:
    source = Fed(2)
    bench = SourceBench(source)
    source.feeds[0] += [[1], [2], None]
    source.feeds[1] += [[10], [20], None]
    assert bench.drain() is Poll.FINISHED
    values = bench.main.values
    assert [value for value in values if value < 10] == [1, 2]
    assert [value for value in values if value >= 10] == [10, 20]
    assert {values[0], values[1]} == {1, 10}


def test_nothing_there_is_not_the_end() -> None:
    bench = SourceBench(Fed(2))
    assert bench.operator.poll() is Poll.NOTHING


def test_each_subtask_reads_its_share() -> None:
    source = Fed(5)
    for number, feed in enumerate(source.feeds):
        feed += [[number], None]
    first = SourceBench(source, index=0, parallelism=2)
    second = SourceBench(source, index=1, parallelism=2)
    first.drain()
    second.drain()
    assert sorted(first.main.values) == [0, 2, 4]
    assert sorted(second.main.values) == [1, 3]


def test_a_subtask_without_splits_is_finished() -> None:
    assert SourceBench(Fed(1), index=1, parallelism=2).operator.poll() is Poll.FINISHED


def test_event_time_is_the_minimum_over_the_splits() -> None:
    source = Fed(2)
    bench = SourceBench(source, ascending())
    source.feeds[0].append([100])
    bench.drain()
    bench.advance(200)
    assert bench.main.watermarks == []
    source.feeds[1].append([50])
    bench.drain()
    bench.advance(200)
    assert bench.main.watermarks == [49]
    source.feeds[1].append([500])
    bench.drain()
    bench.advance(200)
    assert bench.main.watermarks == [49, 99]


def test_an_idle_split_does_not_hold_time_back() -> None:
    source = Fed(2)
    bench = SourceBench(source, ascending().with_idleness(Duration.of_millis(400)))
    for value in (100, 200, 300):
        source.feeds[0].append([value])
        bench.drain()
        bench.advance(200)
    assert bench.main.watermarks[-1] == 299
    assert bench.main.statuses == []


def test_a_finished_split_does_not_hold_time_back() -> None:
    source = Fed(2)
    bench = SourceBench(source, ascending())
    source.feeds[0] += [[100]]
    source.feeds[1] += [[10], None]
    bench.drain()
    bench.advance(200)
    assert bench.main.watermarks == [99]


@pytest.mark.parametrize(("order", "reached"), [("idle first", 199), ("finished first", 99)])
def test_a_finished_split_does_not_end_time_while_the_others_are_idle(order: str, reached: int) -> None:
    source = Fed(2)
    bench = SourceBench(source, ascending().with_idleness(Duration.of_millis(400)))
    source.feeds[0].append([100])
    source.feeds[1].append([200])
    bench.drain()
    if order == "idle first":
        for _ in range(3):
            source.feeds[1].append([200])
            bench.drain()
            bench.advance(200)  # split 0 is silent for 600 ms
        source.feeds[1].append(None)
        bench.drain()
    else:
        source.feeds[1].append(None)  # before its watermark was asked for
        bench.drain()
        bench.advance(1000)
    assert max(bench.main.watermarks) == reached
    assert bench.main.statuses == [True]
    source.feeds[0].append([300])
    bench.drain()
    bench.advance(200)
    assert bench.main.statuses == [True, False]
    assert bench.main.watermarks[-1] == 299


def test_the_end_counts_also_for_those_who_think_the_source_idle() -> None:
    source = Fed(1)
    bench = SourceBench(source, ascending().with_idleness(Duration.of_millis(400)))
    bench.advance(1000)
    source.feeds[0].append(None)
    assert bench.drain() is Poll.FINISHED
    bench.operator.finish()
    assert bench.main.flat == [("idle", True), ("idle", False), ("watermark", MAX_TIMESTAMP)]


def test_no_watermark_follows_the_end_of_a_cancelled_source() -> None:
    source = Fed(1)
    bench = SourceBench(source, ascending())
    source.feeds[0].append([100])
    bench.drain()
    bench.operator.cancel()
    assert bench.operator.poll() is Poll.FINISHED
    bench.operator.finish()
    bench.advance(1000)
    assert bench.main.watermarks == [MAX_TIMESTAMP]


def test_reading_goes_on_at_the_positions_of_a_snapshot() -> None:
    source = CollectionSource(list(range(10_000)))
    bench = SourceBench(source)
    bench.operator.poll()
    read = len(bench.main.values)
    assert 0 < read <= READ_LIMIT
    snapshot = bench.operator.snapshot(1)
    assert snapshot["positions"] == {"collection": read}
    again = SplitSourceOperator(source, None)
    again.restore([snapshot])
    restored = Bench(again)
    while again.poll() is Poll.EMITTED:
        pass
    assert restored.main.values == list(range(read, 10_000))


def test_a_snapshot_keeps_finished_splits() -> None:
    source = Fed(2)
    bench = SourceBench(source)
    source.feeds[0] += [[1, 2], None]
    source.feeds[1] += [[10]]
    bench.drain()
    assert bench.operator.snapshot(1)["positions"] == {"split-0": 2, "split-1": 1}


def test_readers_are_closed_once() -> None:
    source = Fed(2)
    bench = SourceBench(source)
    source.feeds[0].append(None)
    bench.drain()
    bench.operator.close()
    assert sorted(source.closed) == ["split-0", "split-1"]


def test_the_report_shows_each_splits_time() -> None:
    source = Fed(2)
    bench = SourceBench(source, ascending())
    source.feeds[0].append([100])
    bench.drain()
    bench.advance(200)
    report = bench.operator.watermarks()
    assert report["split-0"] == (99, 100, False)
    assert report["split-1"][2] is False


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 12))
def test_a_number_sequence_is_divided_without_gap_or_overlap(start: int, count: int, parallelism: int) -> None:
    source = NumberSequenceSource(start, start + count - 1)
    found: list[int] = []
    sizes: list[int] = []
    for split in source.create_splits(parallelism):
        reader = source.open_split(split, None, ReaderContext(0, parallelism))
        values: list[int] = []
        while (read := reader.read(7)) is not None:
            values += read[0]
        sizes.append(len(values))
        found += values
    assert found == list(range(start, start + count))
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_a_number_sequence_includes_both_ends() -> None:
    assert results(environment().from_sequence(3, 5)) == [3, 4, 5]
    assert sorted(results(environment(3).from_sequence(1, 10))) == list(range(1, 11))


def test_a_sequence_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ProgramError, match="must not lie before"):
        NumberSequenceSource(5, 3)


def test_a_source_with_a_strategy_through_the_api() -> None:
    env = environment(2)
    stream = env.from_source(NumberSequenceSource(1, 4), WatermarkStrategy.no_watermarks(), "numbers")
    assert stream.get_name() == "numbers"
    assert sorted(results(stream)) == [1, 2, 3, 4]


class InTuples(Fed):
    """Its readers return tuples."""

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return TupleReader(self, split, position or 0)


class TupleReader(FedReader):
    def read(self, limit: int) -> Any:
        found = super().read(limit)
        return None if found is None else (tuple(found[0]), tuple(found[0]))


def test_a_reader_may_return_other_sequences_than_lists() -> None:
    source = InTuples(1)
    source.feeds[0] = [[1, 2], [3]]
    bench = SourceBench(source)
    assert bench.drain() is Poll.NOTHING
    assert [element[1:] for element in bench.main.elements] == [([1, 2], [1, 2]), ([3], [3])]
