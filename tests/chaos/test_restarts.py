"""Restart strategies decide what a failure means."""

from __future__ import annotations

import pytest

from penstock import JobStatus, RestartStrategies, StreamExecutionEnvironment
from penstock.errors import UserFunctionError
from tests.chaos.lifecycle import Diary, Watched


def fail_at_hive_twice(diary: Diary) -> object:
    def fail(word: str) -> str:
        if word == "hive" and len(diary.lines("failed")) < 2:
            diary.fail("not now")
        return word

    return fail


def test_w_12_a_job_that_fails_twice_and_then_succeeds_gives_the_right_counts(
    env: StreamExecutionEnvironment, diary: Diary, capfd: pytest.CaptureFixture[str]
) -> None:
    env.set_parallelism(1).set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    words = env.from_collection(["hadoop hadoop", "hadoop", "hive hadoop"]).flat_map(str.split)
    counts = words.map(fail_at_hive_twice(diary)).map(lambda w: (w, 1)).key_by(0).sum(1)
    counts.map(lambda t: f"{t[0]}:::{t[1]}").print()
    env.execute()
    assert len(diary.lines("failed")) == 2
    # Without checkpoints each run starts over; the last one is the one that counts.
    assert capfd.readouterr().out.splitlines()[-5:] == [
        "hadoop:::1",
        "hadoop:::2",
        "hadoop:::3",
        "hive:::1",
        "hadoop:::4",
    ]


def test_w_92_fixed_delay_runs_four_times_and_fails(env: StreamExecutionEnvironment, diary: Diary) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10))
    env.from_sequence(1, 100).rebalance().map(Watched(diary, "map", fails_at=50)).set_parallelism(1).print("n")
    client = env.execute_async()
    with pytest.raises(UserFunctionError, match="bad record 50"):
        client.get_job_execution_result().result(100)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert sorted(diary.lines("open")) == [f"map 0 attempt {number}" for number in range(4)]
    diary.check_closed(opened=4)


@pytest.mark.parametrize("is_explicit", [True, False], ids=["no restart", "nothing set"])
def test_w_94_the_first_failure_fails_the_job(env: StreamExecutionEnvironment, diary: Diary, is_explicit: bool) -> None:
    if is_explicit:
        env.set_restart_strategy(RestartStrategies.no_restart())
    env.from_sequence(1, 100).rebalance().map(Watched(diary, "map", fails_at=50)).set_parallelism(1).print("n")
    with pytest.raises(UserFunctionError, match="bad record 50"):
        env.execute()
    assert diary.lines("open") == ["map 0 attempt 0"]


def test_a_job_can_be_cancelled_while_it_waits_for_its_restart(env: StreamExecutionEnvironment, diary: Diary) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 3_600_000))
    env.from_sequence(1, 100).rebalance().map(Watched(diary, "map", fails_at=50)).set_parallelism(1).print("n")
    client = env.execute_async()
    while client.get_job_status().result() is not JobStatus.RESTARTING:
        pass
    client.cancel().result(20)
    assert client.get_job_status().result() is JobStatus.CANCELED
