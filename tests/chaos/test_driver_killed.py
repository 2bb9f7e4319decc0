"""The driver dies with kill -9: the program is started again from its newest checkpoint until it has finished."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.duration import SECONDS
from tests.chaos.faults import DRIVER_POINTS, FaultPlan
from tests.chaos.lives import Lives, wait_for_end
from tests.chaos.replayed_job import Readings, expected, final_state
from tests.spark.processes import kill

SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "200 ms",
    "execution.checkpointing.num-retained": "3",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "0 s",
}


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 4) + 300)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_the_final_state_is_that_of_an_undisturbed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], backend: str
) -> None:
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", random.SystemRandom().randrange(1 << 32)))
    choices = random.Random(seed)
    readings = Readings(records=4000)
    lives = Lives(tmp_path, readings, {**SETTINGS, "state.backend.type": backend})
    plan = FaultPlan(tmp_path / "faults")
    kills: Counter[str] = Counter()
    started = time.monotonic()
    is_finished = False
    while not is_finished:
        may_kill = time.monotonic() - started < SECONDS / 2
        newest = lives.newest()
        with lives.life(newest[0] if newest else None) as program:
            if may_kill and lives.wait_for_new_checkpoint(program):
                if choices.random() < 0.5:
                    plan.add(choices.choice([*DRIVER_POINTS]), "kill")
                    wait_for_end(program)
                else:
                    time.sleep(choices.uniform(0, 1))
                    kill(program.process.pid)
                    kills["driver"] += 1
                    wait_for_end(program)
            else:
                code, output, errors = program.end(200)
                assert code == 0, errors
                assert output == "started\nfinished\n"
                is_finished = True
    kills += plan.struck()
    assert final_state(lives.output) == expected(readings), f"seed {seed}, after {dict(kills)}"
    with capsys.disabled():
        print(f"\n{backend}, seed {seed}: {kills.total()} drivers killed and survived: {dict(kills)}")
