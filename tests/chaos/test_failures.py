"""Whatever fails, the program hears what, where and in which step, soon; nothing is left open, and Spark goes on."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock import JobStatus, RestartStrategies, StreamExecutionEnvironment, WatermarkStrategy
from penstock.errors import SerializationError, UserFunctionError, WorkerLostError
from tests.chaos.lifecycle import Diary, FailingReader, FailingSink, FailingSource, Watched
from tests.spark.functions import ParallelTicks, Ticks
from tests.spark.jobs import Slowly, collect, run_of, wait_until

SOON = 10.0
"""A failure is shown within two seconds; on a machine that is busy with other things this only guards against hangs."""


def check(caught: pytest.ExceptionInfo[UserFunctionError], diary: Diary, *, step: str, error: str, line: str) -> None:
    """Checks what the user sees, and that the session runs the next job."""
    assert diary.seconds_since_failure() < SOON
    shown = caught.value
    assert str(shown).startswith("Traceback (most recent call last):\n  File ")
    assert line in shown.user_traceback
    assert "penstock/runtime" not in shown.user_traceback
    assert "penstock/execution" not in shown.user_traceback
    assert "java" not in str(shown)
    assert shown.error == f"ValueError: {error}"
    assert re.fullmatch(step, shown.step)
    assert re.search(r"\(.*lifecycle\.py:\d+\)", shown.function)
    assert shown.step in str(shown)
    assert shown.function in str(shown)
    after = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    assert collect(after.from_elements(1).rebalance().map(lambda n: n + 1)) == [2]


def test_in_open(env: StreamExecutionEnvironment, diary: Diary) -> None:
    stream = env.add_source(Ticks(0.01)).map(Watched(diary, "before")).set_parallelism(1)
    stream = stream.rebalance().map(Watched(diary, "failing", fails_in_open=True)).name("enrich").set_parallelism(1)
    stream.rebalance().map(Watched(diary, "after")).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    check(caught, diary, step=r"enrich \(1/1\)", error="no connection in open", line='fail("no connection in open")')
    diary.check_closed()  # the others may not have got that far


def test_at_record_100_000(env: StreamExecutionEnvironment, diary: Diary) -> None:
    numbers = env.from_sequence(1, 1 << 40).set_parallelism(1).map(Watched(diary, "before")).set_parallelism(1)
    failing = numbers.rebalance().map(Watched(diary, "failing", fails_at=100_000)).name("enrich")
    failing.rebalance().map(Watched(diary, "after")).filter(lambda _: False).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    check(caught, diary, step=r"enrich \([12]/2\)", error="bad record 100000", line='fail(f"bad record {value}")')
    assert caught.value.record == "100000"
    diary.check_closed()


def test_in_a_lambda(env: StreamExecutionEnvironment) -> None:
    env.from_elements(2, 1, 0).rebalance().map(lambda n: 1 // n).set_parallelism(1).print("quotient")
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    assert caught.value.error == "ZeroDivisionError: integer division or modulo by zero"
    assert caught.value.step == "Map (1/1)"
    assert re.fullmatch(r".*<lambda> \(.*test_failures\.py:\d+\)", caught.value.function)
    assert caught.value.record == "0"
    assert "1 // n" in str(caught.value)


def test_in_a_sink(env: StreamExecutionEnvironment, diary: Diary) -> None:
    numbers = env.add_source(Ticks(0.001)).map(Watched(diary, "before")).set_parallelism(1)
    numbers.rebalance().add_sink(FailingSink(diary, 20)).name("warehouse")
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    check(caught, diary, step=r"warehouse \([12]/2\)", error="disk full", line='fail("disk full")')
    diary.check_closed(opened=1)


def test_in_a_source_function(env: StreamExecutionEnvironment, diary: Diary) -> None:
    env.add_source(FailingSource(diary), "meter").rebalance().map(Watched(diary, "after")).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    check(caught, diary, step=r"meter \(1/1\)", error="source went away", line='fail("source went away")')
    diary.check_closed()  # the others may not have got that far


def test_in_a_reader(env: StreamExecutionEnvironment, diary: Diary) -> None:
    stream = env.from_source(FailingReader(diary), WatermarkStrategy.no_watermarks(), "meter").set_parallelism(1)
    stream.rebalance().map(Watched(diary, "after")).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    check(caught, diary, step=r"meter \(1/1\)", error="reader went away", line='fail("reader went away")')
    diary.check_closed()  # the others may not have got that far


def test_a_value_that_cannot_be_sent(env: StreamExecutionEnvironment, diary: Diary) -> None:
    locks = env.from_elements(1, 2).map(lambda _: threading.Lock()).name("make mutex").set_parallelism(1)
    locks.rebalance().map(Watched(diary, "after")).print()
    with pytest.raises((SerializationError, UserFunctionError)) as caught:
        env.execute()
    message = str(caught.value)
    assert "A value of type lock cannot be sent to the next step" in message
    assert "make mutex" in message
    diary.check_closed()  # the others may not have got that far


def test_a_function_that_cannot_be_sent_is_refused_before_anything_starts(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    env.from_elements(1).map(lambda n: (n, lock.locked())).name("locked").print()
    with pytest.raises(SerializationError, match=r"'locked'.*\n.*open\(\).*\n  at .*test_failures\.py:\d+"):
        env.execute()


def test_a_killed_worker(env: StreamExecutionEnvironment, diary: Diary) -> None:
    numbers = env.add_source(Ticks(0.001), "meter").map(Watched(diary, "before")).set_parallelism(1)
    numbers.rebalance().map(Watched(diary, "after")).name("enrich").filter(lambda _: False).print()
    client = env.execute_async("victim")
    run = run_of(client)
    wait_until(lambda: client.get_job_status().result() is JobStatus.RUNNING, "the job runs")
    _, process = run.processes()["stage 1, task 0"]
    killed = time.monotonic()
    os.kill(process, signal.SIGKILL)
    with pytest.raises(WorkerLostError, match=rf"'victim' died: process {process} on .* subtask 1 of stage 1 \(enrich"):
        client.get_job_execution_result().result(60)
    assert time.monotonic() - killed < SOON
    assert client.get_job_status().result() is JobStatus.FAILED
    wait_until(lambda: len(diary.lines("close")) >= 2, "the other workers close their functions")
    assert collect(env.from_elements(1).rebalance().map(lambda n: n + 1)) == [2]


def test_a_killed_worker_is_replaced_where_a_restart_strategy_says_so(env: StreamExecutionEnvironment) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    records: Any = env.add_source(Ticks(0.001)).rebalance().map(lambda n: n).set_parallelism(1).execute_and_collect()
    next(records)
    run = run_of(records.get_job_client())
    _, process = run.processes()["stage 1, task 0"]
    os.kill(process, signal.SIGKILL)
    wait_until(
        lambda: (
            run.processes().get("stage 1, task 0", ("", process))[1] != process and run.status() is JobStatus.RUNNING
        ),
        "the job runs again",
    )
    assert next(records) is not None
    records.close()


def test_functions_are_closed_when_the_job_is_cancelled(env: StreamExecutionEnvironment, diary: Diary) -> None:
    numbers = env.add_source(ParallelTicks(0.001)).map(Watched(diary, "before"))
    numbers.rebalance().map(Watched(diary, "middle")).key_by(lambda n: n % 7).map(Watched(diary, "after")).print("n")
    client = env.execute_async()
    wait_until(lambda: client.get_job_status().result() is JobStatus.RUNNING, "the job runs")
    client.cancel().result(60)
    diary.check_closed(opened=6)


def test_functions_are_closed_when_the_job_is_cancelled_under_back_pressure(
    env: StreamExecutionEnvironment, diary: Diary, tmp_path: Path
) -> None:
    slowly = Slowly(0.01, tmp_path)
    numbers = env.from_sequence(1, 1 << 40).map(lambda n: "x" * 500).map(Watched(diary, "before"))
    numbers.rebalance().map(slowly).map(Watched(diary, "after")).filter(lambda _: False).print()
    client = env.execute_async()
    slowly.wait_for_back_pressure()
    client.cancel().result(60)
    diary.check_closed(opened=4)


def test_a_function_that_hangs_does_not_outlive_its_job(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def hangs(_: int) -> None:
        begun.touch()
        time.sleep(3600)

    env.from_elements(1).rebalance().map(hangs).set_parallelism(1).print()
    client = env.execute_async()
    run = run_of(client)
    wait_until(begun.exists, "the function hangs")
    _, process = run.processes()["stage 1, task 0"]
    client.cancel().result(60)
    wait_until(lambda: not is_alive(process), "the worker is gone", 20)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
