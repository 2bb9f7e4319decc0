"""A record that nothing follows still arrives at once: on its way it is not held back for a neighbour."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment
from tests.spark.functions import Stamps
from tests.spark.jobs import collect

PAUSE = 1.0


@pytest.mark.parametrize(
    "route",
    [
        pytest.param(lambda s: s.rebalance(), id="one exchange"),
        pytest.param(lambda s: s.rebalance().map(lambda t: t).key_by(lambda _: "only one key"), id="two exchanges"),
    ],
)
def test_latency_of_an_idle_stream(env: StreamExecutionEnvironment, route: Callable[[Any], Any]) -> None:
    stamps = route(env.add_source(Stamps(PAUSE, 6)))
    delays = collect(stamps.map(lambda emitted: time.time() - emitted))
    assert len(delays) == 6
    # Without the empty rows behind a block each record would wait for the next one, a whole pause.
    assert statistics.median(delays) < PAUSE / 2
