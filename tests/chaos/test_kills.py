"""Python workers are killed and protocol steps fail at random moments: the final state is that of an undisturbed run.

``PENSTOCK_CHAOS_SECONDS`` says for how long each test goes on, ``PENSTOCK_CHAOS_SEED`` repeats the choices of a run.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Configuration,
    FileSystemCheckpointStorage,
    JobStatus,
    RestartStrategies,
    StreamExecutionEnvironment,
)
from tests.chaos.duration import SECONDS
from tests.chaos.faults import DRIVER_POINTS, WORKER_POINTS, FaultPlan, install
from tests.chaos.replayed_job import Readings, build, expected, final_state
from tests.spark.jobs import run_of

READINGS = Readings()


class Round:
    """One run of the job with what is done to it."""

    def __init__(self, place: Path, choices: random.Random, backend: str, *, unaligned: bool) -> None:
        self.choices = choices
        self.output = place / "output"
        self.plan = FaultPlan(place / "faults")
        self.kills: Counter[str] = Counter()
        settings = {
            "execution.checkpointing.interval": "150 ms",
            "execution.checkpointing.tolerable-failed-checkpoints": "1000",
            "execution.checkpointing.timeout": "20 s",
            "execution.checkpointing.incremental": "true",
            "execution.checkpointing.unaligned.enabled": str(unaligned).lower(),
            "state.backend.type": backend,
        }
        self.env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        self.env.set_parallelism(2)
        # All state goes into files, none into the metadata.
        storage = FileSystemCheckpointStorage(f"file://{place}/checkpoints", file_state_size_threshold=0)
        self.env.get_checkpoint_config().set_checkpoint_storage(storage)
        self.env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10_000, 0))
        build(self.env, READINGS, self.output, self.plan)

    def run(self, harm: int) -> None:
        """Runs the job to its end and does it so much harm."""
        install(self.plan, {name: place for name, place in DRIVER_POINTS.items() if name == "before the publication"})
        client = self.env.execute_async("chaos")
        done = client.get_job_execution_result()
        deadline = time.monotonic() + 100
        while harm and not done.done():
            time.sleep(self.choices.uniform(0.0, 0.8))
            if client.get_job_status().result() is not JobStatus.RUNNING:
                continue
            harm -= 1
            if self.choices.random() < 0.4:
                self.kill_a_worker(client)
            else:
                self.strike(done)
        done.result(max(1.0, deadline - time.monotonic()))
        self.kills += self.plan.struck()

    def kill_a_worker(self, client: Any) -> None:
        tasks = run_of(client).processes()
        if tasks:
            task = self.choices.choice(sorted(tasks))
            with contextlib.suppress(ProcessLookupError):
                os.kill(tasks[task][1], signal.SIGKILL)
                self.kills["worker"] += 1

    def strike(self, done: Any) -> None:
        """Plans a fault and waits until it has happened; some need a failure before they can."""
        point = self.choices.choice([*WORKER_POINTS, "before the publication"])
        mode = "full" if point == "before the publication" else self.choices.choice(["kill", "kill", "raise", "full"])
        planned = self.plan.add(point, mode)
        if "restore" in point:
            self.plan.add("before the acknowledgement", "kill")
        deadline = time.monotonic() + 4
        while planned.exists() and not done.done() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.plan.withdraw(planned)


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 3) + 200)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_the_final_state_is_that_of_an_undisturbed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str
) -> None:
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", random.SystemRandom().randrange(1 << 32)))
    choices = random.Random(seed)
    wanted = expected(READINGS)
    kills: Counter[str] = Counter()
    started = time.monotonic()
    rounds = 0
    while rounds == 0 or time.monotonic() - started < SECONDS:
        rounds += 1
        current = Round(tmp_path / f"round-{rounds}", choices, backend, unaligned=rounds % 3 == 0)
        current.run(harm=choices.randrange(2, 7))
        assert final_state(current.output) == wanted, f"seed {seed}, round {rounds}, after {dict(current.kills)}"
        kills += current.kills
    with capsys.disabled():
        print(f"\n{backend}, seed {seed}: {rounds} rounds, {kills.total()} faults survived: {dict(kills)}")
