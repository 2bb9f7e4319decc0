"""The examples of patterns, in process: each finds what its twin, a process function, finds."""

from __future__ import annotations

from typing import Any

import pytest

from examples import (
    failed_logins,
    fraud_detection,
    pattern_card_fraud,
    pattern_failed_logins,
    pattern_fake_orders,
    pattern_rising_level,
    pattern_unpaid_orders,
    unpaid_orders,
)
from penstock import StreamExecutionEnvironment
from penstock.testing import run_locally


def printed(example: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an example prints, without the number of the subtask."""
    lines: list[str] = []

    def execute(self: StreamExecutionEnvironment, name: str = "") -> None:
        lines.extend(run_locally(self).printed)

    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    example.main()
    return sorted(line.partition("> ")[2] for line in lines)


def test_w_117_failed_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(pattern_failed_logins, monkeypatch) == ["ann failed at second 7, 8, 9"]
    assert len(printed(failed_logins, monkeypatch)) == 1


def test_w_118_card_fraud(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(pattern_card_fraud, monkeypatch) == ["card 1: 600.0 right after 0.5"]
    assert printed(fraud_detection, monkeypatch) == ["card 1: 600.0 right after 0.5"]


def test_w_119_unpaid_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ["order 1 is paid", "order 2 is not paid by minute 16", "order 3 is paid", "order 4 is paid"]
    assert printed(pattern_unpaid_orders, monkeypatch) == expected
    assert printed(unpaid_orders, monkeypatch) == expected


def test_w_120_fake_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(pattern_fake_orders, monkeypatch) == ["ann: login, order, pay"] * 2


def test_w_116_rising_level(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(pattern_rising_level, monkeypatch) == ["s1 rises from 10 to 17"] * 2
