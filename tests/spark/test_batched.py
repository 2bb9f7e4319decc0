"""Batch functions on a real Spark: every record once, whatever the batches are."""

from __future__ import annotations

import numpy as np

from penstock import StreamExecutionEnvironment
from tests.spark.jobs import collect


def test_batches_of_both_kinds_lose_nothing(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 20_000).rebalance()
    even = numbers.filter_batches(lambda batch: batch % 2 == 0, form="numpy")
    found = collect(even.rebalance().map_batches(lambda batch: np.add(batch, 1), form="numpy"))
    assert sorted(found) == list(range(3, 20_002, 2))
