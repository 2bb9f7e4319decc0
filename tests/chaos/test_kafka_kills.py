"""From Kafka to Kafka while workers, drivers and the broker die with kill -9: each record is counted and seen once.

``PENSTOCK_CHAOS_SECONDS`` says for how long each test goes on, ``PENSTOCK_CHAOS_SEED`` repeats the choices of a run.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, JobStatus, StreamExecutionEnvironment
from tests.chaos.duration import SECONDS
from tests.chaos.kafka_count_job import Counting, build
from tests.chaos.lives import Lives, wait_for_end
from tests.servers.kafka import Kafka
from tests.spark.jobs import run_of
from tests.spark.processes import kill

PROGRAM = Path(__file__).parent / "programs" / "kafka_count.py"
RECORDS = 6000
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "250 ms",
    "execution.checkpointing.timeout": "60 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    "execution.checkpointing.num-retained": "3",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


def new_work(kafka: Kafka) -> Counting:
    work = Counting(kafka.address, kafka.topic(partitions=3, word="in"), kafka.topic(partitions=2, word="out"))
    kafka.send(work.source, [f"{'abcdefg'[number % 7]}{number}" for number in range(RECORDS)])
    return work


def check(kafka: Kafka, work: Counting, told: str) -> None:
    totals = Counter("abcdefg"[number % 7] for number in range(RECORDS))
    wanted = Counter(f"{letter} {count}" for letter, total in totals.items() for count in range(1, total + 1))
    seen = Counter(kafka.committed(work.target))
    missing, surplus = wanted - seen, seen - wanted
    assert (sorted(missing)[:5], sorted(surplus)[:5]) == ([], []), f"{told}: -{missing.total()} +{surplus.total()}"


def choices_of_this_run() -> tuple[int, random.Random]:
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", random.SystemRandom().randrange(1 << 32)))
    return seed, random.Random(seed)


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 4) + 400)
def test_workers_and_the_broker_die(kafka: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    kills: Counter[str] = Counter()
    started = time.monotonic()
    rounds = 0
    while not kills or time.monotonic() - started < SECONDS:
        rounds += 1
        work = new_work(kafka)
        place = {"execution.checkpointing.dir": f"file://{tmp_path}/round-{rounds}"}
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({**SETTINGS, **place}))
        build(env, work)
        client = env.execute_async("kafka count")
        done = client.get_job_execution_result()
        for _ in range(choices.randrange(2, 7)):
            while not done.done() and not _is_running(client):
                time.sleep(0.05)
            time.sleep(choices.uniform(0, 1))
            if done.done() or not _is_running(client):
                continue
            if choices.random() < 0.2:
                kafka.server.kill()
                time.sleep(choices.uniform(0, 2))
                kafka.server.start()
                kills["broker"] += 1
            else:
                kills["worker"] += _kill_a_worker(client, choices)
        done.result(200)
        check(kafka, work, f"seed {seed}, round {rounds}, after {dict(kills)}")
    with capsys.disabled():
        print(f"\nseed {seed}: {rounds} rounds, {kills.total()} kills survived: {dict(kills)}")


def _is_running(client: Any) -> bool:
    return client.get_job_status().result() is JobStatus.RUNNING and bool(run_of(client).processes())


def _kill_a_worker(client: Any, choices: random.Random) -> int:
    tasks = run_of(client).processes()
    if tasks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(tasks[choices.choice(sorted(tasks))][1], signal.SIGKILL)
            return 1
    return 0


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 4) + 400)
def test_drivers_die(kafka: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    work = new_work(kafka)
    lives = Lives(tmp_path, asdict(work), SETTINGS, program=PROGRAM)
    kills = 0
    started = time.monotonic()
    is_finished = False
    while not is_finished:
        newest = lives.newest()
        with lives.life(newest[0] if newest else None) as program:
            may_kill = kills == 0 or time.monotonic() - started < SECONDS / 2
            if may_kill and lives.wait_for_new_checkpoint(program):
                time.sleep(choices.uniform(0, 1))
                kill(program.process.pid)
                kills += 1
                wait_for_end(program)
            else:
                code, output, errors = program.end(200)
                assert code == 0, errors
                assert output == "started\nfinished\n"
                is_finished = True
    check(kafka, work, f"seed {seed}, after {kills} kills")
    with capsys.disabled():
        print(f"\nseed {seed}: {kills} kills of drivers survived")
