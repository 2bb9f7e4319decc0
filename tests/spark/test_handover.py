"""Records on Spark are what they were when they were emitted; a call without end streams, and commands get through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import JobStatus, StreamExecutionEnvironment
from tests.spark.jobs import collect, wait_until
from tests.unit.property import mutating_programs as programs


def test_a_program_that_changes_records(env: StreamExecutionEnvironment) -> None:
    """One subtask, so that the order is that of the reference."""
    env.set_parallelism(1)
    steps = [programs.ChangeTheLast, programs.YieldTwice, programs.ReturnOneObject, programs.Gather, programs.AddUp]
    shared: list[Any] = []
    records = [{"id": number, "log": shared} for number in range(40)]
    assert collect(programs.build(env, steps, records)) == programs.reference(steps, records)


class Endless:
    """Never comes to an end, and notes how far it has come."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, value: int) -> Iterator[tuple[int, int]]:
        for number in itertools.count():
            if number % 100_000 == 0:
                with (self.place / "reached").open("a") as file:
                    file.write(f"{number}\n")
            yield value, number


class Watch:
    """Passes records on, and notes each hundred thousandth and how much memory the process has."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.seen = 0

    def __call__(self, record: tuple[int, int]) -> bool:
        self.seen += 1
        if self.seen % 100_000 == 0:
            size = int(Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024
            with (self.place / "seen").open("a") as file:
                file.write(f"{self.seen} {size}\n")
        return False


def test_a_call_without_end(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Its results pass an exchange, checkpoints complete meanwhile, memory stays bounded, and it can be cancelled."""
    env.set_parallelism(1)
    env.enable_checkpointing(300)
    env.get_checkpoint_config().set_checkpoint_storage_dir((tmp_path / "checkpoints").as_uri())
    env.from_collection([1]).flat_map(Endless(tmp_path)).rebalance().filter(Watch(tmp_path)).print()
    client = env.execute_async("endless")
    seen = tmp_path / "seen"

    def lines() -> list[str]:
        return seen.read_text().splitlines() if seen.exists() else []

    wait_until(lambda: len(lines()) >= 10, "a million records have passed the exchange")
    wait_until(lambda: len(list(tmp_path.glob("checkpoints/*/chk-*/_metadata"))) > 0, "a checkpoint is complete")
    before = len(lines())
    wait_until(lambda: len(lines()) > before, "records go on after the checkpoint")
    sizes = [int(line.split()[1]) for line in lines()]
    assert max(sizes) < sizes[0] + 100
    client.cancel().result(30)
    assert client.get_job_status().result() is JobStatus.CANCELED
