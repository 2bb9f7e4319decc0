"""Failures of a local run: injected or of the program, and restarts by the job's strategy under the test's clock."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock import (
    AsyncDataStream,
    AsyncFunction,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    JobStatus,
    MapFunction,
    RestartStrategies,
    SourceFunction,
    StreamExecutionEnvironment,
    Time,
    UserFunctionError,
)
from penstock.errors import CheckpointError, JobFailedError, ProgramError
from penstock.testing import LocalRun
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import Replay, each_record

RECORDS = [(number, number) for number in range(1, 6)]
calls: list[Any] = []
faults: dict[Any, int] = {}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    calls.clear()
    faults.clear()


class Faulty(MapFunction[Any, Any]):
    """Fails at the records in ``faults``, as often as they say."""

    def open(self, runtime_context: Any) -> None:
        calls.append(("open", runtime_context.get_attempt_number()))
        if faults.pop("open", 0):
            raise ValueError("not yet")

    def map(self, value: Any) -> Any:
        if faults.get(value, 0) > 0:
            faults[value] -= 1
            raise ValueError(f"cannot do {value}")
        return value

    def close(self) -> None:
        calls.append("close")


def sums(strategy: Any = None, *, is_checkpointed: bool = True) -> StreamExecutionEnvironment:
    env = environment()
    if is_checkpointed:
        env.enable_checkpointing(3_600_000)
    if strategy is not None:
        env.set_restart_strategy(strategy)
    numbers = env.from_source(Replay(RECORDS), each_record(), "numbers").map(Faulty())
    collect(numbers.key_by(lambda _: "all").reduce(lambda a, b: a + b))
    return env


def test_a_failure_and_a_restart_by_the_clock() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(3, 10_000)))
    assert run.status is JobStatus.CREATED
    run.step()
    run.checkpoint()
    run.step()
    assert run.fail("a machine is gone")
    assert (run.status, run.restart_time) == (JobStatus.RESTARTING, 10_000)
    assert not run.step()
    run.advance(9_999)
    assert run.status is JobStatus.RESTARTING
    assert calls == [("open", 0), "close"]
    run.advance(1)
    assert run.status is JobStatus.RUNNING
    assert calls == [("open", 0), "close", ("open", 1)]
    run.run()
    assert run.status is JobStatus.FINISHED
    # 1 + 2 came out twice: it was after the checkpoint
    assert run.collected["out"] == [1, 3, 3, 6, 10, 15]
    assert [str(failure) for failure in run.failures] == ["a machine is gone"]


def test_without_a_checkpoint_the_job_starts_from_its_beginning() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(1, 0)))
    run.step()
    run.step()
    run.fail()
    assert run.run().collected["out"] == [1, 3, 1, 3, 6, 10, 15]


def test_a_failure_in_the_middle_of_a_checkpoint_goes_back_to_the_one_before() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(1, 0)))
    run.step()
    run.checkpoint()
    run.step()
    number = run.trigger_checkpoint()
    run.step()
    run.fail()
    assert run.checkpoints.pending == []
    assert run.run().collected["out"] == [1, 3, 6, 3, 6, 10, 15]
    assert number not in [each.checkpoint_id for each in run.checkpoints.complete]


def test_an_error_of_the_program_is_dealt_with_by_its_strategy() -> None:
    faults[3] = 2
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(2, 500)), restarts=True)
    run.step()
    run.checkpoint()
    run.run()
    assert run.collected["out"] == [1, 3, 3, 3, 6, 10, 15]
    assert run.clock.now() >= 1000
    assert [type(failure) for failure in run.failures] == [UserFunctionError, UserFunctionError]
    assert [call for call in calls if call != "close"] == [("open", 0), ("open", 1), ("open", 2)]


def test_the_last_attempt_fails_for_good() -> None:
    faults[2] = 99
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(2, 500)), restarts=True)
    with pytest.raises(UserFunctionError, match="cannot do 2"):
        run.run()
    assert run.status is JobStatus.FAILED
    assert len(run.failures) == 3
    assert calls.count("close") == 3
    with pytest.raises(ProgramError, match="failed for good"):
        run.step()


def test_without_restarts_an_error_comes_out_at_once() -> None:
    faults[2] = 1
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(2, 500)))
    run.step()
    with pytest.raises(UserFunctionError, match="cannot do 2"):
        run.step()


def test_a_job_without_a_strategy() -> None:
    run = LocalRun.of(sums(is_checkpointed=False))
    run.step()
    assert not run.fail()
    assert run.status is JobStatus.FAILED
    with pytest.raises(ProgramError, match="failed for good"):
        run.advance(1)


def test_pauses_of_the_exponential_strategy() -> None:
    strategy = RestartStrategies.exponential_delay_restart(
        initial_backoff=1000, max_backoff=3000, backoff_multiplier=2.0, reset_backoff_threshold=60_000
    )
    run = LocalRun.of(sums(strategy))
    pauses = []
    for _ in range(4):
        run.step()
        run.fail()
        assert run.restart_time is not None
        pauses.append(run.restart_time - run.clock.now())
        run.advance(pauses[-1])
    assert pauses == [1000, 2000, 3000, 3000]
    run.close()


def test_processes_that_die_close_nothing() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(1, 0)))
    run.step()
    assert run.fail("killed", closes=False)
    assert calls == [("open", 0)]
    run.advance(0)
    run.kill()
    assert calls == [("open", 0), ("open", 1)]
    assert run.status is JobStatus.CANCELED
    with pytest.raises(ProgramError, match="was killed"):
        run.settle()


def test_one_failure_at_a_time() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(5, 1000)))
    run.step()
    run.fail()
    with pytest.raises(ProgramError, match="starts again at 1000"):
        run.fail()


def test_too_many_failed_checkpoints_are_a_failure_of_the_job() -> None:
    env = sums(RestartStrategies.fixed_delay_restart(1, 0))
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1)
    run = LocalRun.of(env, restarts=True)
    run.step()
    for _ in range(2):
        run.abort_checkpoint(run.trigger_checkpoint(), "the disk is full", is_failure=True)
    assert run.status is JobStatus.RESTARTING
    assert isinstance(run.failures[0], JobFailedError)
    assert "2 checkpoint(s) in a row failed" in str(run.failures[0])
    assert run.run().collected["out"] == [1, 1, 3, 6, 10, 15]


def test_a_checkpoint_does_not_outlive_the_attempt_that_began_it() -> None:
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(1, 1000)))
    run.step()
    number = run.trigger_checkpoint()
    run.fail("a machine is gone")
    with pytest.raises(CheckpointError, match=r"was not completed: the job has failed \(a machine is gone\)"):
        run.complete_checkpoint(number)
    with pytest.raises(CheckpointError, match="was not begun: the job has failed"):
        run.trigger_checkpoint()
    run.run()


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
def test_restarts_follow_each_other(backend: Any) -> None:
    env = sums(RestartStrategies.fixed_delay_restart(9, 10))
    env.set_state_backend(backend())
    run = LocalRun.of(env)
    for _ in range(3):
        run.step()
        run.checkpoint()
        run.fail(closes=False)
        run.advance(10)
    assert run.run().collected["out"] == [1, 3, 6, 10, 15]
    assert [call for call in calls if call != "close"] == [("open", number) for number in range(4)]


class Forever(SourceFunction[Any]):
    """Emits 1, 2, 3 ... until it is cancelled, and does not go on by itself."""

    def __init__(self) -> None:
        self._is_over = False

    def run(self, ctx: Any) -> None:
        calls.append("run")
        ctx.collect(1)
        while not self._is_over:
            go_on.wait()

    def cancel(self) -> None:
        self._is_over = True
        go_on.set()


go_on = threading.Event()


class Never(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.Event().wait()
        return [value]


@pytest.mark.parametrize("end", [LocalRun.kill, LocalRun.fail, lambda run: run.fail(closes=False)])
def test_no_thread_outlives_an_attempt(end: Any) -> None:
    go_on.clear()
    before = set(threading.enumerate())
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 10))
    stream = env.add_source(Forever())
    collect(AsyncDataStream.ordered_wait(stream, Never(), Time.hours(1)))
    run = LocalRun.of(env)
    while calls != ["run"]:
        run.step()
    end(run)
    assert set(threading.enumerate()) == before


def test_an_error_while_subtasks_open_is_a_failure_too() -> None:
    faults["open"] = 1
    run = LocalRun.of(sums(RestartStrategies.fixed_delay_restart(1, 10)), restarts=True)
    run.run()
    assert run.collected["out"] == [1, 3, 6, 10, 15]
    assert "not yet" in str(run.failures[0])
