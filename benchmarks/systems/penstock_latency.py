"""A job whose records are due at fixed times, through some exchanges, with or without checkpoints; or an idle one."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import ledger
from benchmarks.pacing import SECOND
from benchmarks.systems.penstock import CountAndForward, DelaySink
from penstock import (
    Boundedness,
    DataStream,
    ReaderContext,
    Source,
    SourceSplit,
    SplitReader,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)

KEYS = 1_000


class DueSource(Source[tuple[int, int]]):
    """Records that carry the moment at which they were due; 0 while the job settles."""

    boundedness = Boundedness.BOUNDED

    def __init__(self, rate: int, settle: float, seconds: float) -> None:
        """Takes the records per second of all subtasks together; a rate of 0 emits nothing for as long."""
        self._rate, self._settle, self._seconds = rate, settle, seconds

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        return [SourceSplit(str(part), part) for part in range(parallelism)]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[tuple[int, int]]:
        interval = SECOND * context.parallelism // self._rate if self._rate else 0
        return DueReader(split.detail, interval, int(self._settle * SECOND), int(self._seconds * SECOND))


class DueReader(SplitReader[tuple[int, int]]):
    """Hands over whatever is due by now. A record that is read late keeps its due time: the delay counts."""

    def __init__(self, part: int, interval: int, settle: int, span: int) -> None:
        self._part, self._interval = part, interval
        self._begun = time.monotonic_ns()
        self._measured = self._begun + settle
        self._end = self._measured + span
        self._next = 0
        # Asked again as soon as the next record can be due; an idle source need not be asked at all.
        self.wait_millis = 1 if interval else 1_000

    def read(self, limit: int) -> tuple[list[tuple[int, int]], list[int] | None] | None:
        now = time.monotonic_ns()
        if now >= self._end:
            return None
        if not self._interval:
            return [], None
        due = min((now - self._begun) // self._interval, self._next + limit)
        records = []
        for number in range(self._next, due):
            at = self._begun + number * self._interval
            records.append((number * 31 + self._part, at if at >= self._measured else 0))
        self._next = due
        return records, None

    def position(self) -> int:
        return self._next


def run(rate: int, exchanges: int, checkpoint_millis: int, settle: float, seconds: float, folder: str) -> None:
    """Runs the job to its end."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    if checkpoint_millis:
        environment.enable_checkpointing(checkpoint_millis)
        environment.get_checkpoint_config().set_checkpoint_storage_dir(Path(folder, "checkpoints").as_uri())
    source = DueSource(rate, settle, seconds)
    stream: DataStream[Any] = environment.from_source(source, WatermarkStrategy.no_watermarks(), "due")
    for exchange in range(exchanges):
        keyed = stream.key_by(lambda record, wide=2**exchange: record[0] % KEYS // wide)
        stream = keyed.process(CountAndForward())
    delays = Path(folder, "delays")
    delays.mkdir()
    stream.add_sink(DelaySink(str(delays)))
    environment.execute("latency")


def main() -> None:
    """Runs one measurement given on the command line and writes its percentiles to the file named there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--exchanges", type=int, default=1)
    parser.add_argument("--checkpoint-millis", type=int, default=0)
    parser.add_argument("--settle", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="latency-", ignore_cleanup_errors=True) as folder:
        run(asked.rate, asked.exchanges, asked.checkpoint_millis, asked.settle, asked.seconds, folder)
        delays = ledger.read(str(Path(folder, "delays"))).delays_ms
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0} if delays else {}
    result: dict[str, Any] = {name: ledger.percentile(delays, share) for name, share in shares.items()}
    asked.output.write_text(json.dumps(result | {"records": len(delays)}))


if __name__ == "__main__":
    main()
