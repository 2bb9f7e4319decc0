"""How large incremental checkpoints of RocksDB are, where their time goes, and how much memory ten million keys take.

``python -m benchmarks.state_size`` has two parts, which ``--part`` chooses from:

- ``incremental`` fills the RocksDB backend of one subtask, changes a share of its keys between checkpoints and stores
  each checkpoint as a job does: what is stored for one follows the change, not the state. The first checkpoint has
  everything, so its time is split into the processor's work, the disk's (making files durable) and the rest.
- ``memory`` runs a job on Spark with ten million keys in RocksDB, checkpoints included, and measures the memory of
  all its processes together, again and again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import state_history
from benchmarks.state_job import CountWithPayload, JobLog, KeyOfNumber
from benchmarks.state_memory import Watch
from penstock import (
    Configuration,
    EmbeddedRocksDBStateBackend,
    NumberSequenceSource,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.checkpoint.snapshot_storage import FileTarget
from penstock.foundation.files.local import LocalFiles
from penstock.statestore.backend import KeyContext, KeyedStateBackend
from penstock.statestore.open_backend import open_backend

LARGEST_SHARE = 0.1
"""Of the state, the most that a checkpoint with one percent of the keys changed may store."""
LARGEST_MEMORY = 1024.0
"""Megabytes of all processes together."""
_KEY_GROUPS = 128
MEMORY_SETTINGS = {
    "spark.master": "local[4]",
    # Spark refuses a smaller heap; what the JVM takes is kept down by a small young generation.
    "spark.driver.memory": "472m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmn16m -Xss512k"
    " -XX:MinHeapFreeRatio=5 -XX:MaxHeapFreeRatio=10 -XX:ReservedCodeCacheSize=48m",
    "spark.ui.enabled": "false",
    "state.backend.rocksdb.block.cache-size": "16 mb",
    "state.backend.rocksdb.writebuffer.size": "8 mb",
}
"""How a job is told to be sparing with memory."""
MEMORY_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}
"""What the processes are started with: each thread that has freed memory keeps less of it."""


@dataclass(frozen=True)
class Stored:
    """One checkpoint of the backend."""

    changed: float
    """The share of the keys that were changed since the one before."""
    total_megabytes: float
    new_megabytes: float
    frozen_ms: float
    """The synchronous part."""
    stored_ms: float
    """The asynchronous part."""
    durable_ms: float
    """What of it was spent waiting for the disk, in all threads together."""
    processor_ms: float


def incremental(keys: int, payload: int, changes: list[float]) -> list[Stored]:
    """Stores a checkpoint of everything, then one after each change."""
    context = KeyContext()
    description = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
    backend = open_backend(description, context, operator="size", max_parallelism=_KEY_GROUPS, now=lambda: 0)
    state = backend.value_state(ValueStateDescriptor("kept"))
    directory = tempfile.mkdtemp(prefix="penstock-state-size-")
    found: list[Stored] = []
    try:
        for number, share in enumerate([1.0, *changes], 1):
            for key in range(int(keys * share)):
                context.key = key
                state.update((number, os.urandom(payload // 2).hex()))
            found.append(_store(backend, directory, number, share))
            print(
                f"checkpoint {number}: {share:7.2%} of the keys changed, {found[-1].new_megabytes:7.1f} of"
                f" {found[-1].total_megabytes:6.1f} MB stored; frozen in {found[-1].frozen_ms:.0f} ms, stored in"
                f" {found[-1].stored_ms:.0f} ms ({found[-1].durable_ms:.0f} ms for the disk,"
                f" {found[-1].processor_ms:.0f} ms of the processor)",
                flush=True,
            )
    finally:
        backend.close()
        shutil.rmtree(directory)
    return found


def _store(backend: KeyedStateBackend, directory: str, number: int, share: float) -> Stored:
    reusable = number - 1 if number > 1 else None
    target = FileTarget(
        LocalFiles(),
        f"{directory}/chk-{number}",
        shared=f"{directory}/shared",
        threshold=20 * 1024,
        checkpoint_id=number,
        reusable=reusable,
    )
    before = {path.name for path in Path(directory).glob("*/*")}
    started = time.perf_counter()
    snapshot = backend.snapshot(range(_KEY_GROUPS), _KEY_GROUPS)
    frozen = time.perf_counter()
    processor = time.process_time()
    with _disk_watched() as disk:
        handle = snapshot.store(target, "size")
    ended, used = time.perf_counter(), time.process_time() - processor
    new = sum(path.stat().st_size for path in Path(directory).glob("*/*") if path.name not in before)
    return Stored(
        share,
        handle.size / 1e6,
        new / 1e6,
        (frozen - started) * 1000,
        (ended - frozen) * 1000,
        disk[0] * 1000,
        used * 1000,
    )


@contextmanager
def _disk_watched() -> Iterator[list[float]]:
    """Counts the seconds that all threads spend in making files durable."""
    spent = [0.0]
    make_durable = os.fsync

    def watched(fd: Any) -> None:
        started = time.perf_counter()
        make_durable(fd)
        spent[0] += time.perf_counter() - started

    os.fsync = watched
    try:
        yield spent
    finally:
        os.fsync = make_durable


def memory(keys: int, payload: int, interval: int) -> dict[str, Any]:
    """Runs the job once over all keys and returns its largest footprint."""
    os.environ.update(MEMORY_ENVIRONMENT)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log"
        log.mkdir()
        configuration = Configuration.from_dict(MEMORY_SETTINGS)
        env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
        env.set_state_backend(EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True))
        env.enable_checkpointing(interval)
        env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{place}/checkpoints")
        numbers = env.from_source(NumberSequenceSource(0, keys - 1), WatermarkStrategy.no_watermarks(), "numbers")
        keyed = numbers.map(KeyOfNumber(keys)).key_by(lambda key: key)
        keyed.process(CountWithPayload(str(log), payload)).print()
        started = time.perf_counter()
        with Watch() as watch:
            env.execute("state memory")
        seconds = time.perf_counter() - started
        job = JobLog(log)
        checkpoints = {entry["checkpoint"] for each in job.entries() for entry in each if "complete" in entry}
        shown = ", ".join(f"{kind} {size:.0f} MB" for kind, size in watch.largest.parts.items())
        print(f"{keys:,} keys in {seconds:.0f} s, {len(checkpoints)} checkpoints; at the most: {shown}")
        return {
            "megabytes": watch.largest.total,
            "parts": watch.largest.parts,
            "seconds": seconds,
            "checkpoints": len(checkpoints),
        }


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state_size", description=__doc__)
    parser.add_argument("--part", choices=["incremental", "memory", "all"], default="all")
    parser.add_argument("--megabytes", type=int, default=100, help="state of the incremental checkpoints")
    parser.add_argument("--keys", type=int, default=10_000_000, help="of the job whose memory is measured")
    parser.add_argument("--payload", type=int, default=20, help="characters beside the count, in that job")
    parser.add_argument("--interval", type=int, default=20_000, help="milliseconds between its checkpoints")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    bars: list[state_history.Bar] = []
    details: dict[str, Any] = {}
    if options.part != "memory":
        payload = 180
        stored = incremental(options.megabytes * 1_000_000 // 200, payload, [0.01, 0.01, 0.001, 0.1, 0.01])
        details["incremental"] = [asdict(each) for each in stored]
        small = [each.new_megabytes / each.total_megabytes for each in stored if each.changed == 0.01]
        bars.append(state_history.Bar.of("stored with 1 % of the keys changed, of the state", small, LARGEST_SHARE))
    if options.part != "incremental":
        found = memory(options.keys, options.payload, options.interval)
        details["memory"] = found
        size = found["megabytes"]
        bars.append(state_history.Bar("memory of all processes, MB", size, size, size, LARGEST_MEMORY))
    settings = {name: value for name, value in vars(options).items() if name != "output"}
    name = "state-size" if options.part == "all" else f"state-size-{options.part}"
    return state_history.keep(name, bars, settings | {"memory settings": MEMORY_SETTINGS}, details, options.output)


if __name__ == "__main__":
    sys.exit(main())
