"""The JVM of a Spark session may die, of a lack of memory for example: that is said, and another one takes over."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock import JobFailedError, RestartStrategies, StreamExecutionEnvironment
from tests.spark.functions import Ticks
from tests.spark.jobs import collect
from tests.spark.processes import children_of

pytestmark = pytest.mark.timeout(240)


def kill_jvm() -> int:
    """Kill the JVM of this program; returns its number."""
    for child in children_of(os.getpid()):
        if b"org.apache.spark." in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(child, signal.SIGKILL)
            return child
    pytest.fail("there is no JVM")


def test_a_session_that_dies_is_replaced(env: StreamExecutionEnvironment) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    records: Any = env.add_source(Ticks(0.01)).rebalance().map(lambda n: n).set_parallelism(1).execute_and_collect()
    while next(records) < 20:
        pass
    first = kill_jvm()
    while next(records) > 10:  # until it begins anew: the restart takes another session
        pass
    assert kill_jvm() != first
    with pytest.raises(JobFailedError, match=r"the JVM of its Spark session has ended \(signal 9\)"):
        for _ in records:
            pass
    assert collect(env.from_elements(1).rebalance().map(lambda n: n + 1)) == [2]
