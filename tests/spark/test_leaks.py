"""Jobs come and go; nothing of them stays."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment
from tests.spark.functions import Ticks
from tests.spark.jobs import collect, wait_until
from tests.spark.processes import children_of

JOBS = 20


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def descendants(process: int) -> int:
    children = children_of(process)
    return len(children) + sum(descendants(child) for child in children)


@pytest.mark.timeout(240)
def test_threads_descriptors_and_processes_do_not_pile_up(env: StreamExecutionEnvironment) -> None:
    def run_job() -> None:
        assert sorted(collect(env.from_elements(1, 2, 3).rebalance().map(lambda n: n))) == [1, 2, 3]

    def cancel_job() -> None:
        records: Any = env.add_source(Ticks(0.01)).rebalance().map(lambda n: n).execute_and_collect()
        next(records)
        records.close()

    run_job()
    cancel_job()
    before = threading.active_count(), descriptors(), descendants(os.getpid())
    for number in range(JOBS):
        cancel_job() if number % 4 == 3 else run_job()
    allowance = 4  # connections to the JVM that are kept for the next thread

    def has_settled() -> bool:
        after = threading.active_count(), descriptors(), descendants(os.getpid())
        return all(now <= then + allowance for now, then in zip(after, before, strict=True))

    wait_until(has_settled, f"threads, descriptors and processes are back at about {before}", 30)
