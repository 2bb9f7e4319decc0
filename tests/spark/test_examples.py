"""Every example runs on Spark and prints what its case says; all in one process, so that Spark starts once."""

from __future__ import annotations

import sys

import pytest

from examples import failed_logins, fraud_detection, hot_items, unpaid_orders, water_levels, word_count
from penstock import StreamExecutionEnvironment
from penstock.testing import run_locally


@pytest.fixture(scope="module", autouse=True)
def _stop_spark_at_the_end():
    yield
    StreamExecutionEnvironment.get_execution_environment().close()


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return sorted(capsys.readouterr().out.splitlines())


def _values(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed without the subtask, for keys whose subtask no case states."""
    return sorted(line.partition("> ")[2] for line in capsys.readouterr().out.splitlines())


def test_w_01_word_count(capsys):
    word_count.main()
    assert _values(capsys) == sorted([f"('hadoop', {count})" for count in (1, 2, 3, 4)] + ["('hive', 1)"])


def test_w_118_fraud_detection(capsys):
    fraud_detection.main()
    assert _values(capsys) == ["card 1: 600.0 right after 0.5"]


def test_w_117_failed_logins(capsys):
    failed_logins.main()
    assert _values(capsys) == ["ann failed at 10:00:07, 10:00:08, 10:00:09"]


def test_w_119_unpaid_orders(capsys):
    unpaid_orders.main()
    paid = [f"order {number} is paid" for number in (1, 3, 4)]
    assert _values(capsys) == sorted([*paid, "order 2 is not paid by minute 16"])


def test_w_115_hot_items(capsys):
    hot_items.main()
    later = [f"minute {minute}: B with 3 views" for minute in range(10, 65, 5)]
    assert _values(capsys) == sorted(["minute 5: A with 2 views", *later, "minute 65: B with 2 views"])


def test_the_water_level_monitor_ends_by_itself_and_counts_right(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["water_levels.py", "--seconds", "3", "--rate", "50"])
    water_levels.main()
    printed = capsys.readouterr().out
    lines = [line for _, line in water_levels.arrivals(3, 50, 3)]
    malformed = [line for line in lines if not _is_reading(line)]
    assert malformed
    assert sorted(line.partition("> ")[2] for line in printed.splitlines() if line.startswith("malformed:")) == sorted(
        repr(line) for line in malformed
    )
    assert f"{len(lines) - len(malformed)} readings in " in printed
    assert f"{len(malformed)} malformed lines" in printed
    assert "4 Spark stages" in printed
    assert "http://" in printed


def _is_reading(line: str) -> bool:
    fields = line.split(",")
    return len(fields) == 3 and fields[1].isdigit() and "?" not in fields[2]


def test_w_54_a_rise_of_5_s_raises_one_alarm_per_sensor():
    # The readings of the case, in tenths of a metre: 23.2 ends the first rise, 24 begins the one that lasts. The
    # second sensor (W-55) falls all the time.
    readings = [(22, 10), (23, 11), (23.2, 10), (24, 12), (25, 14), (26, 15), (27, 16), (28, 17), (29, 18), (31, 18)]
    lines = [f"sensor_1,{int(second * 1000)},{level / 10}" for second, level in readings]
    lines += [f"sensor_2,{int(second * 1000)},{9 - second / 10}" for second, _ in readings]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    water_levels.monitor(env.from_collection(lines))
    printed = run_locally(env).printed
    assert [line for line in printed if line.startswith("rising> ")] == [
        "rising> sensor_1 has risen for 5 s, from 1.20 m to 1.80 m"
    ]
