"""An interval join over a long run: event time goes on, so what can find no partner is forgotten and memory is flat.

``python -m benchmarks.join_soak --records 20000000`` prints the memory of every process while the job runs and says at
the end whether all pairs were found and whether memory stayed flat. The two streams are aligned: whichever source is
faster waits for the other one, because what it is ahead by has to be kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator

from benchmarks import expected, ledger, memory, workload
from benchmarks.join_workload import LEFT, RIGHT, JoinEvents, per_stream
from benchmarks.systems.penstock_joins import interval_join
from benchmarks.systems.penstock_steps import Generate, Sink
from penstock import (
    DataStream,
    Duration,
    NumberSequenceSource,
    StreamExecutionEnvironment,
    TimestampAssigner,
    WatermarkStrategy,
)

MOST_AHEAD = Duration.of_seconds(5)
"""How much event time one source may be ahead of the slowest one: 50,000 records."""


class TimeOfNumber(TimestampAssigner):
    """Knows the time of an event before it is generated: sources are aligned where they are read."""

    def __init__(self, event: JoinEvents) -> None:
        self._event = event

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return self._event(value)[1]


def main(arguments: list[str] | None = None) -> int:
    """Runs the join as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.join_soak", description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000, help="of both streams together")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between rows of the table")
    options = parser.parse_args(arguments)
    records = max(1, options.records // (2 * options.parallelism)) * 2 * options.parallelism
    with tempfile.TemporaryDirectory() as directory:
        samples = list(_run(records, options.parallelism, options.interval, directory))
        reading = ledger.read(directory)
    should = expected.checks("interval-join", records, options.parallelism)
    is_complete = {"results": reading.results, "sum": reading.total} == should
    is_flat, sentence = memory.verdict(samples)
    print(f"{records:,} records in {reading.seconds:.0f} s: {records / reading.seconds:,.0f} records/s")
    verdict = "none missing" if is_complete else "NOT THE SAME"
    print(f"pairs expected {should['results']:,}, found {reading.results:,}: {verdict}")
    print(sentence)
    return 0 if is_complete and is_flat else 1


def _run(records: int, parallelism: int, interval: float, directory: str) -> Iterator[memory.Sample]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    left, right = (_aligned(env, JoinEvents(side, records, parallelism), records, directory) for side in (LEFT, RIGHT))
    interval_join(left, right).add_sink(Sink(directory, marks=True))
    client = env.execute_async("join soak")
    yield from memory.watch(client, interval)
    client.get_job_execution_result().result()
    env.close()


def _aligned(
    env: StreamExecutionEnvironment, event: JoinEvents, records: int, directory: str
) -> DataStream[workload.Event]:
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(workload.OUT_OF_ORDER_MS))
        .with_timestamp_assigner(TimeOfNumber(event))
        .with_watermark_alignment("both streams", MOST_AHEAD, Duration.of_millis(100))
    )
    numbers = env.from_source(NumberSequenceSource(0, per_stream(records) - 1), strategy, "numbers")
    return numbers.map(Generate(event, directory))


if __name__ == "__main__":
    sys.exit(main())
