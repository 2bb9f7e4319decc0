"""An unaligned checkpoint of a job on Spark, with records in flight, comes back with another parallelism."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

from penstock import MapFunction
from penstock.checkpoint.storage import load_checkpoint
from penstock.runtime.checkpoint.recording import read_recording
from penstock.runtime.exchange.elements import RECORDS
from tests.spark.checkpoint_bench import CheckpointBench, checkpoint_ids, result
from tests.spark.checkpoint_jobs import Sum, numbers
from tests.spark.jobs import wait_until

LIMIT, KEYS = 8000, 7


class OddOnesSlowly(MapFunction):
    """Holds the barriers of the second split up: those of the first one overtake what is in front of them."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def map(self, value: int) -> int:
        if value % 2:
            time.sleep(self.pause)
        return value


def start(bench: CheckpointBench, parallelism: int, pause: float, path: str | None = None) -> Any:
    settings = {} if path is None else {"execution__state-recovery__path": path}
    env = bench.env(
        30,
        parallelism,
        **{
            "execution__checkpointing__unaligned__enabled": "true",
            "execution__checkpointing__num-retained": "1000",
            "execution__checkpointing__externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        },
        **settings,
    )
    slow = numbers(env, bench.tap, LIMIT).map(OddOnesSlowly(pause)).uid("slow")
    sums = slow.key_by(lambda n: n % KEYS).process(Sum()).uid("sums")
    sums.add_sink(bench.results.sink()).name("results")
    return env.execute_async()


def records_in_flight(directory: Path) -> int:
    """Returns how many records a checkpoint holds in flight to the sums."""
    metadata, files = load_checkpoint(str(directory))
    parts = [read_recording(files.read(each), "sums") for each in metadata.operators["sums"].in_flight.values()]
    return sum(len(element[1]) for part in parts for _, element in part if element[0] == RECORDS)


def test_records_in_flight_come_back_with_another_parallelism(tmp_path: Path) -> None:
    bench = CheckpointBench(tmp_path)
    client = start(bench, 2, 0.005)
    found: list[Path] = []
    opened = itertools.count(20, 20)

    def has_found() -> bool:
        bench.tap.open(min(next(opened), LIMIT // 4))  # so that the first split, which is fast, does not end
        paths = map(bench.path_of, checkpoint_ids(bench.checkpoints))
        found[:] = [path for path in paths if records_in_flight(path)]
        return bool(found)

    wait_until(has_found, "a checkpoint with records in flight", 90)
    client.cancel().result(30)
    bench.tap.open(LIMIT)
    result(start(bench, 3, 0, str(found[0])))
    expected = {str(key): range(key, LIMIT, KEYS) for key in range(KEYS)}
    assert bench.results.read() == {key: (len(each), sum(each)) for key, each in expected.items()}
