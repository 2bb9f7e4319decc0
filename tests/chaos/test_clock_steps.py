"""Somebody sets the clock of the machine while a job runs on Spark: records, timers and checkpoints go on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from penstock import KeyedProcessFunction, StreamExecutionEnvironment
from tests.chaos.stepped_clock import SteppedClock, follow, unfollow
from tests.spark.functions import Ticks
from tests.spark.jobs import wait_until

HOUR = 3_600_000
BACK_WITHIN = 5.0
"""Everything goes on within a second; on a machine that is busy with other things this only guards against hangs."""


class Reminded(KeyedProcessFunction):
    """Passes records on and sets a timer again and again, 100 ms ahead."""

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock
        self.is_waiting = False

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        if not self.is_waiting:
            self.is_waiting = True
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 100)
        yield "record", ctx.timer_service().current_processing_time()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        self.is_waiting = False
        yield "timer", ctx.timer_service().current_processing_time()


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[SteppedClock]:
    path = tmp_path / "offset"
    follow(path)
    yield SteppedClock(path)
    unfollow()


def test_everything_goes_on(env: StreamExecutionEnvironment, clock: SteppedClock, tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    env.enable_checkpointing(200)
    env.get_checkpoint_config().set_checkpoint_storage_dir(checkpoints.as_uri())
    ticks = env.add_source(Ticks(0.005)).key_by(lambda _: 0).process(Reminded(clock)).set_parallelism(1)
    records: Any = ticks.execute_and_collect("stepped")
    seen: deque[tuple[str, int]] = deque(maxlen=10_000)
    reader = Thread(target=lambda: seen.extend(records), daemon=True)
    reader.start()

    def newest() -> int:
        return max((int(path.parent.name[4:]) for path in checkpoints.glob("*/chk-*/_metadata")), default=0)

    def goes_on() -> Callable[[], bool]:
        """Tells whether records, a timer and a checkpoint have come since the clock was set."""
        seen.clear()
        before = newest()
        return lambda: {"record", "timer"} <= {kind for kind, _ in list(seen)} and newest() > before + 1

    wait_until(goes_on(), "the job runs")
    for step in (-HOUR, -5_000, HOUR, 5_000):
        clock.step(step)
        time.sleep(0.05)  # all processes have looked
        wait_until(goes_on(), f"the job goes on after the clock was set by {step} ms", BACK_WITHIN)
        shown = int(time.time() * 1000) + clock.offset
        assert abs(seen[-1][1] - shown) < 2_000
    records.close()
    reader.join(30)
