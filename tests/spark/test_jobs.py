"""A running job seen from the program: results while it runs, status, cancelling, plans, several jobs."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock import JobStatus, MapFunction, StreamExecutionEnvironment, UserFunctionError, WatermarkStrategy
from penstock.errors import JobCancelledError, NotEnoughSlotsError
from penstock.execution.spark.driver import attempt
from penstock.foundation.native import accelerator
from tests.spark.functions import ParallelTicks, Ticks
from tests.spark.jobs import Slowly, collect, run_of, wait_until


def test_records_arrive_while_the_source_still_runs(env: StreamExecutionEnvironment) -> None:
    records: Any = env.add_source(Ticks(0.001)).key_by(lambda n: n % 2).map(lambda n: n).execute_and_collect()
    first = [next(records) for _ in range(10)]
    assert set(first) <= set(range(1000))
    client = records.get_job_client()
    assert client.get_job_status().result() is JobStatus.RUNNING
    records.close()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_limit_of_an_endless_stream(env: StreamExecutionEnvironment) -> None:
    squares = env.add_source(Ticks(0.001)).map(lambda n: n * n).set_parallelism(1)
    assert squares.execute_and_collect("squares", 4) == [0, 1, 4, 9]


def test_a_program_that_takes_records_slowly_gets_them_all(env: StreamExecutionEnvironment) -> None:
    records: Any = env.from_sequence(1, 400_000).map(lambda n: n).execute_and_collect()
    first = next(records)
    time.sleep(4)  # longer than a job waits for anything when it ends
    assert sorted([first, *records]) == list(range(1, 400_001))


def test_collected_records_are_of_the_program_s_own_classes(env: StreamExecutionEnvironment) -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    found = collect(env.from_elements(1, 2).rebalance().map(Local))
    assert all(type(record) is Local for record in found)
    assert sorted(record.number for record in found) == [1, 2]


def test_job_client(env: StreamExecutionEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    env.from_sequence(1, 10).rebalance().map(lambda n: n).print("ignored")
    with caplog.at_level("INFO", "penstock.job"):
        client = env.execute_async("numbers")
    assert f", accelerator {accelerator}" in caplog.text
    result = client.get_job_execution_result().result(60)
    assert result.get_job_id() == client.get_job_id()
    assert result.get_net_runtime() > 0
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert {report["accelerator"] for report in run_of(client).metrics().values()} == {accelerator}


@pytest.mark.parametrize("seconds", [0.0, 0.3, 2.0], ids=["at once", "while it starts", "while it runs"])
def test_cancel(env: StreamExecutionEnvironment, seconds: float) -> None:
    env.add_source(ParallelTicks(0.01)).rebalance().map(lambda n: n).filter(lambda _: False).print()
    client = env.execute_async("endless")
    time.sleep(seconds)
    client.cancel().result(60)
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError, match="endless"):
        client.get_job_execution_result().result(0)


def test_cancel_under_back_pressure(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    slowly = Slowly(0.05, tmp_path)
    slow = env.from_sequence(1, 1 << 40).map(lambda n: "x" * 500).rebalance().map(slowly)
    slow.filter(lambda _: False).print()
    client = env.execute_async("slow")
    slowly.wait_for_back_pressure()
    started = time.monotonic()
    client.cancel().result(60)
    assert time.monotonic() - started < 20


def test_a_function_that_does_not_stop_is_interrupted_at_intervals_and_ended_after_the_timeout(
    env: StreamExecutionEnvironment, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    interrupts = tmp_path / "interrupts"

    def never_stops(number: int) -> int:
        interrupts.touch()
        while True:
            try:
                time.sleep(60)
            except BaseException:
                with interrupts.open("a") as file:
                    file.write("x")

    env.get_config().set_task_cancellation_interval(300).set_task_cancellation_timeout(1500)
    env.from_sequence(1, 1 << 40).set_parallelism(1).map(never_stops).set_parallelism(1).filter(lambda _: False).print()
    client = env.execute_async("stubborn")
    wait_until(interrupts.exists, "the function runs")
    started = time.monotonic()
    client.cancel().result(60)
    assert 1.5 < time.monotonic() - started < 15
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert 2 <= len(interrupts.read_text()) <= 5, "the first at 250 ms, then every 300 ms until 1500 ms"
    (told,) = [record.getMessage() for record in caplog.records if "It sits in" in record.getMessage()]
    assert "Job 'stubborn' was told to stop" in told
    assert "in never_stops" in told


def test_functions_have_the_time_to_close_that_the_job_gives_them(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"

    class SlowToClose(MapFunction):
        def map(self, value: int) -> int:
            if value == 100:
                raise ValueError(value)
            return value

        def close(self) -> None:
            time.sleep(2)  # longer than a failure used to wait
            closed.touch()

    env.from_sequence(1, 1000).set_parallelism(1).map(SlowToClose()).set_parallelism(1).filter(lambda _: False).print()
    with pytest.raises(UserFunctionError):
        env.execute("careful")
    assert closed.exists()


def test_two_jobs_at_the_same_time(env: StreamExecutionEnvironment) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    ticks: Any = env.add_source(Ticks(0.001)).key_by(lambda n: n % 2).map(lambda n: n).execute_and_collect("first")
    next(ticks)
    assert collect(other.from_elements(1, 2, 3).map(lambda n: n), "second") == [1, 2, 3]
    assert next(ticks) is not None
    assert ticks.get_job_client().get_job_status().result() is JobStatus.RUNNING
    ticks.close()


def test_jobs_may_be_started_from_any_thread(env: StreamExecutionEnvironment) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(collect(env.from_elements(1, 2).map(lambda n: n))))
    thread.start()
    thread.join(60)
    assert sorted(found[0]) == [1, 2]


def test_too_few_slots_are_counted_before_anything_starts(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(30)
    env.add_source(ParallelTicks(0.1)).rebalance().map(lambda n: n).print()
    running = env.execute_async("takes 60 of 64")
    try:
        env.set_parallelism(4)
        env.from_sequence(1, 10).rebalance().map(lambda n: n).print()
        with pytest.raises(NotEnoughSlotsError, match=r"needs 8 task slots .* has 64, of which 60 are used .* 4 more"):
            env.execute("needs 8")
    finally:
        running.cancel().result(120)


def test_a_started_job_has_a_pipelined_plan(env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[str] = []
    run_plan = attempt.run_plan

    def show(plan: Any) -> None:
        plans.append(plan.toString())
        run_plan(plan)

    monkeypatch.setattr(attempt, "run_plan", show)
    assert collect(env.from_elements(1).rebalance().map(lambda n: n).key_by(lambda n: n).map(lambda n: n)) == [1]
    assert plans[0].count("isPipelined=true") == plans[0].count("Exchange") == 3  # and one to collect


def test_plans_before_the_job_starts(env: StreamExecutionEnvironment) -> None:
    words = env.from_elements("a b").flat_map(str.split).name("split").map(lambda w: (w, 1)).key_by(0).sum(1)
    words.print()
    plan = json.loads(env.get_execution_plan())
    assert any("split" in node["type"] for node in plan["nodes"])
    assert "split" in env.explain()
    env.graph = type(env.graph)()


def test_processes_of_a_job_are_known(env: StreamExecutionEnvironment) -> None:
    env.add_source(Ticks(0.01)).rebalance().map(lambda n: n).filter(lambda _: False).print()
    client = env.execute_async()
    wait_until(lambda: len(run_of(client).processes()) == 3, "three tasks have registered")
    client.cancel().result(60)


def float_time(number: int, _: int) -> Any:
    return number * 1.5


def test_a_time_that_is_none_is_refused_with_the_assigner_and_its_line(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(float_time)
    stream = env.from_collection([3]).set_parallelism(1).assign_timestamps_and_watermarks(strategy)
    stream.key_by(lambda number: number).sum(0).print()
    with pytest.raises(UserFunctionError, match=r"returned 4.5 \(float\), but a time is a whole number") as caught:
        env.execute()
    line = float_time.__code__.co_firstlineno
    assert caught.value.function == f"float_time ({__file__}:{line})"
    assert caught.value.record == "3"
    assert caught.value.user_traceback == ""
