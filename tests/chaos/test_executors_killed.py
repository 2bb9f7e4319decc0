"""Executors of a cluster die with kill -9 under a job with state: it goes on from its newest checkpoint."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.duration import SECONDS
from tests.chaos.executors import run_while_executors_die
from tests.chaos.lives import Lives
from tests.chaos.replayed_job import Readings, expected, final_state

SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "200 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
BACKENDS = {
    "hashmap": {"state.backend.type": "hashmap"},
    "rocksdb": {"state.backend.type": "rocksdb", "execution.checkpointing.incremental": "true"},
}


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 3) + 900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_final_state_is_that_of_an_undisturbed_run(
    tmp_path: Path, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", random.SystemRandom().randrange(1 << 32)))
    choices = random.Random(seed)
    readings = Readings(records=4000)
    lives = Lives(tmp_path, readings, SETTINGS | BACKENDS[backend], master="local-cluster[2,6,1024]")
    killed = run_while_executors_die(lives, choices, SECONDS / 2)
    assert final_state(lives.output) == expected(readings), f"seed {seed}, after {killed} kills"
    with capsys.disabled():
        print(f"\n{backend}, seed {seed}: {killed} executors killed and survived")
