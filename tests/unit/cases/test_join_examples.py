"""The examples of several streams, run in process: each prints what its case says."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from examples import async_enrichment, broadcast_rules, goods_orders, order_receipts, speed_comparison
from penstock.api.environment import StreamExecutionEnvironment
from penstock.testing.local_run import run_locally
from tests.unit.cases.join_examples import EXPECTED

EXAMPLES = {
    "async_enrichment": async_enrichment,
    "broadcast_rules": broadcast_rules,
    "goods_orders": goods_orders,
    "order_receipts": order_receipts,
    "speed_comparison": speed_comparison,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_prints_what_its_case_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []

    def execute(env: StreamExecutionEnvironment, job_name: str) -> Any:
        printed.extend(run_locally(env, job_name).printed)

    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    monkeypatch.setattr(sys, "argv", [name])
    EXAMPLES[name].main()
    assert sorted(line.partition("> ")[2] for line in printed) == sorted(EXPECTED[name])
