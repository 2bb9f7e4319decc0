"""What does not die but stands still: heartbeats find it, it is ended for good, and the job goes on or says why not."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, JobStatus, RestartStrategies, StreamExecutionEnvironment
from penstock.checkpoint.storage import CheckpointStore
from penstock.errors import JobFailedError, UserFunctionError, WorkerLostError
from penstock.execution.spark.control.server import ControlServer
from tests.chaos.cut_network import CutNetwork
from tests.chaos.executors import executors_of
from tests.chaos.lives import Lives
from tests.chaos.replayed_job import Readings, expected, final_state
from tests.spark.functions import Ticks
from tests.spark.jobs import run_of, wait_until
from tests.spark.processes import children_of, is_alive

SECONDS = float(os.environ.get("PENSTOCK_CHAOS_SECONDS", "0"))
"""How long processes are stopped again and again; without it, once."""
TIMEOUT = 3.0
HEARTBEATS = {"heartbeat.interval": "500 ms", "heartbeat.timeout": f"{TIMEOUT:g} s"}
SOON = TIMEOUT + 10
BUSY_MACHINE = 30.0
"""What a machine may take longer that is busy with other things."""


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in HEARTBEATS.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def test_a_stopped_worker_is_taken_for_dead_and_ended(env: StreamExecutionEnvironment) -> None:
    env.add_source(Ticks(0.001)).rebalance().map(lambda n: n).name("enrich").filter(lambda _: False).print()
    client = env.execute_async("victim")
    run = run_of(client)
    wait_until(lambda: client.get_job_status().result() is JobStatus.RUNNING, "the job runs")
    _, process = run.processes()["stage 1, task 0"]
    os.kill(process, signal.SIGSTOP)
    stopped = time.monotonic()
    text = rf"(?s)'victim' has not been heard of for 3 s .*process {process} on .* subtask 1 of stage 1 \(enrich"
    with pytest.raises(WorkerLostError, match=text):
        client.get_job_execution_result().result(SOON + BUSY_MACHINE)
    assert time.monotonic() - stopped > TIMEOUT / 2
    wait_until(lambda: not is_alive(process), "the stopped worker is gone", SOON + BUSY_MACHINE)


def test_a_network_that_is_cut(env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    networks: list[CutNetwork] = []
    real = ControlServer.address.fget
    assert real is not None

    def address(server: ControlServer) -> tuple[str, int]:
        networks.append(CutNetwork(real(server)))
        return networks[-1].address

    monkeypatch.setattr(ControlServer, "address", property(address))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    records: Any = env.add_source(Ticks(0.001)).rebalance().map(lambda n: n).execute_and_collect("cut off")
    try:
        next(records)
        run = run_of(records.get_job_client())
        before = {process for _, process in run.processes().values()}
        networks[0].cut()
        wait_until(
            lambda: run.status() is JobStatus.RUNNING and before.isdisjoint(p for _, p in run.processes().values()),
            "the job runs again, with other workers",
            SOON + BUSY_MACHINE,
        )
        wait_until(lambda: not any(map(is_alive, before)), "those that were cut off are gone", SOON + BUSY_MACHINE)
    finally:
        records.close()
        for network in networks:
            network.close()


def _settings() -> dict[str, str]:
    return {
        **HEARTBEATS,
        "execution.checkpointing.interval": "300 ms",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }


@pytest.mark.timeout(300 + SECONDS)
def test_a_driver_that_was_stopped_ends_itself_when_it_is_continued(tmp_path: Path) -> None:
    readings = Readings(records=6000)
    lives = Lives(tmp_path, readings, _settings())
    with lives.life(None) as program:
        assert lives.wait_for_new_checkpoint(program)
        workers = [process for process, command in program.left_behind().items() if "fork_server" in command]
        os.kill(program.process.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        fork_server = min(workers)
        wait_until(lambda: not children_of(fork_server), "the workers have given the driver up", SOON + BUSY_MACHINE)
        # One that stood still for less than the timeout may go on and restart the job.
        wait_until(lambda: time.monotonic() - stopped > 6, "the driver stands still for twice heartbeat.timeout")
        newest = lives.newest()[0]
        os.kill(program.process.pid, signal.SIGCONT)
        code, _, errors = program.end(60)
        assert code != 0
        assert re.search(
            r"The driver of the job 'chaos' did not run for .* longer than heartbeat.timeout \(3 s\)", errors
        )
        assert lives.newest()[0] == newest, "a driver that was given up has completed a checkpoint"
        program.wait_until_nothing_is_left()
    with lives.life(newest) as program:
        code, _, errors = program.end(200)
        assert code == 0, errors
    assert final_state(lives.output) == expected(readings)


@pytest.mark.timeout(400 + 2 * SECONDS)
@pytest.mark.parametrize("who", ["executor", "worker"])
def test_processes_of_a_cluster_are_stopped(tmp_path: Path, who: str) -> None:
    readings = Readings(records=6000 + int(SECONDS) * 500)
    # Spark goes by the same timeout, and executors take a while to start on a machine that is busy.
    settings = {**_settings(), "heartbeat.interval": "2 s", "heartbeat.timeout": "15 s"}
    lives = Lives(tmp_path, readings, settings, "local-cluster[2,4,1024]")
    choices = random.Random(13)
    started, stopped = time.monotonic(), 0
    with lives.life(None) as program:
        while (stopped == 0 or time.monotonic() - started < SECONDS) and lives.wait_for_new_checkpoint(program):
            time.sleep(choices.uniform(0, 0.5))
            executors = executors_of(program)
            daemons = [child for executor in executors for child in children_of(executor)]
            victims = executors if who == "executor" else [child for each in daemons for child in children_of(each)]
            if victims:
                victim = choices.choice(victims)
                os.kill(victim, signal.SIGSTOP)
                stopped += 1
                wait_until(lambda: not is_alive(victim), f"the stopped {who} is gone", 15 + BUSY_MACHINE)  # noqa: B023
        code, _, errors = program.end(250)
        assert code == 0, errors
        program.wait_until_nothing_is_left()
    assert stopped > 0
    assert final_state(lives.output) == expected(readings)


def test_storage_that_hangs_does_not_hold_up_a_cancel(
    env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    thawed, is_frozen = threading.Event(), threading.Event()
    publish = CheckpointStore.publish

    def freeze(*arguments: Any) -> str:
        is_frozen.set()
        thawed.wait(120)
        return publish(*arguments)

    monkeypatch.setattr(CheckpointStore, "publish", freeze)
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_storage_dir((tmp_path / "checkpoints").as_uri())
    env.get_config().set_task_cancellation_timeout(2_000)
    env.add_source(Ticks(0.01)).rebalance().map(lambda n: n).filter(lambda _: False).print()
    client = env.execute_async("frozen")
    try:
        assert is_frozen.wait(60)
        wait_until(lambda: "checkpoint storage" in run_of(client).metrics(), "a metric says what is waited for")
        waiting = run_of(client).metrics()["checkpoint storage"]
        assert waiting["waiting_for"] == "storing the metadata of checkpoint 1"
        client.cancel().result(SOON + BUSY_MACHINE)
        assert "'frozen' ends although the checkpoint storage does not answer: storing the metadata" in caplog.text
        assert client.get_job_status().result() is JobStatus.CANCELED
    finally:
        thawed.set()


def exit_process(number: int) -> int:
    os._exit(3)


def end_generator(number: int) -> int:
    raise GeneratorExit("enough")


@pytest.mark.parametrize(
    ("function", "error"),
    [(exit_process, r"SystemExit: os\._exit\(3\) was called"), (end_generator, "GeneratorExit: enough")],
)
def test_functions_that_end_their_worker_are_named(env: StreamExecutionEnvironment, function: Any, error: str) -> None:
    env.from_elements(1, 2).rebalance().map(function).name("odd").print()
    with pytest.raises(UserFunctionError, match=error) as caught:
        env.execute("odd one")
    assert caught.value.step == "odd (1/1)"
    assert function.__name__ in caught.value.function
    assert caught.value.record == "1"


def test_a_function_that_closes_what_is_not_its_own_is_named(env: StreamExecutionEnvironment) -> None:
    env.from_elements(1, 2).rebalance().map(lambda _: os.closerange(3, 256)).name("odd").print()
    with pytest.raises(JobFailedError, match=r"closed descriptors of its worker that are not its own"):
        env.execute("closing")


def test_a_function_that_never_returns_shows_where_it_sits(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.enable_checkpointing(200)
    env.get_checkpoint_config().set_checkpoint_timeout(4_000)
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(0)
    env.get_checkpoint_config().set_checkpoint_storage_dir((tmp_path / "checkpoints").as_uri())
    env.get_config().set_task_cancellation_timeout(1_000)
    env.add_source(Ticks(0.01)).rebalance().map(lambda _: time.sleep(3600)).name("lookup").print()
    with pytest.raises(JobFailedError, match=r"(?s)lookup.*has not come back from a function for \d+ s.*time\.sleep"):
        env.execute("endless")
