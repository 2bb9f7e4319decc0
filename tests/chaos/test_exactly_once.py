"""Results are seen exactly once in files, a table, a topic and the program's own sinks, whatever dies and whenever.

``PENSTOCK_CHAOS_SECONDS`` says for how long each test goes on, ``PENSTOCK_CHAOS_SEED`` repeats the choices of a run.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, JobStatus, RestartStrategies, StreamExecutionEnvironment
from tests.chaos.duration import SECONDS
from tests.chaos.exactly_once_job import SINK_POINTS, Work, build
from tests.chaos.executors import run_while_executors_die
from tests.chaos.faults import DRIVER_POINTS, WORKER_POINTS, FaultPlan, install
from tests.chaos.lives import Lives, wait_for_end
from tests.chaos.outcome import World
from tests.spark.jobs import run_of
from tests.spark.processes import kill

PROGRAM = Path(__file__).parent / "programs" / "exactly_once.py"
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "250 ms",
    "execution.checkpointing.timeout": "20 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000",
    "execution.checkpointing.num-retained": "3",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10000",
    "restart-strategy.fixed-delay.delay": "0 s",
}


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(request, tmp_path)


def choices_of_this_run() -> tuple[int, random.Random]:
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", random.SystemRandom().randrange(1 << 32)))
    return seed, random.Random(seed)


def report(capsys: pytest.CaptureFixture[str], text: str, world: World) -> None:
    with capsys.disabled():
        print(f"\n{text}" + "".join(f"; without {missing}" for missing in world.missing))


class Round:
    """One run of the job in this process's session, with what is done to it."""

    def __init__(self, work: Work, choices: random.Random) -> None:
        self.choices = choices
        self.plan = FaultPlan(Path(work.place) / "faults")
        self.kills: Counter[str] = Counter()
        directory = {"execution.checkpointing.dir": f"file://{work.place}/checkpoints"}
        self.env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict({**SETTINGS, **directory})
        )
        self.env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10_000, 0))
        build(self.env, work, self.plan)

    def run(self, faults: list[tuple[str, str]]) -> None:
        """Runs the job to its end with faults, one after the other: a point and what happens there."""
        install(self.plan, {name: place for name, place in DRIVER_POINTS.items() if name == "before the publication"})
        client = self.env.execute_async("exactly once")
        done = client.get_job_execution_result()
        for point, mode in faults:
            while not done.done() and client.get_job_status().result() is not JobStatus.RUNNING:
                time.sleep(0.02)
            time.sleep(self.choices.uniform(0.0, 0.3))
            if point == "worker":
                self._kill_a_worker(client)
            else:
                self._strike(point, mode, done)
        done.result(150)
        self.kills += self.plan.struck()

    def _kill_a_worker(self, client: Any) -> None:
        tasks = run_of(client).processes()
        if tasks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(tasks[self.choices.choice(sorted(tasks))][1], signal.SIGKILL)
                self.kills["worker"] += 1

    def _strike(self, point: str, mode: str, done: Any) -> None:
        planned = self.plan.add(point, mode)
        if "open" in point or "restore" in point:  # it takes a failure to come there
            self.plan.add("after phase one", "kill")
        deadline = time.monotonic() + 6
        while planned.exists() and not done.done() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.plan.withdraw(planned)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_fault_before_and_after_every_step_of_both_phases(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    faults = [(point, mode) for point in SINK_POINTS for mode in ("kill", "raise")]
    choices.shuffle(faults)
    kills: Counter[str] = Counter()
    for start in range(0, len(faults), 8):
        work = world.new_work(lines=1500, per_second=600)
        current = Round(work, choices)
        current.run(faults[start : start + 8])
        assert world.problems(work) == [], f"seed {seed}, after {dict(current.kills)}"
        kills += current.kills
    struck = {point for point in SINK_POINTS if any(name.startswith(f"{point}:") for name in kills)}
    unreachable = {point for point in SINK_POINTS if ("Kafka" in point and world.kafka is None)}
    unreachable |= {point for point in SINK_POINTS if ("branch" in point and world.database is None)}
    assert struck >= set(SINK_POINTS) - unreachable
    report(capsys, f"seed {seed}: {kills.total()} faults in sinks survived: {dict(kills)}", world)


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 3) + 400)
def test_workers_die_at_random(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    kills: Counter[str] = Counter()
    started = time.monotonic()
    while not kills or time.monotonic() - started < SECONDS:
        work = world.new_work()
        current = Round(work, choices)
        points = ["worker", "worker", choices.choice([*SINK_POINTS]), choices.choice([*WORKER_POINTS])]
        current.run([(choices.choice(points), "kill") for _ in range(choices.randrange(2, 7))])
        assert world.problems(work) == [], f"seed {seed}, after {dict(current.kills)}"
        kills += current.kills
    report(capsys, f"seed {seed}: {kills.total()} kills of workers survived: {dict(kills)}", world)


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 4) + 400)
def test_drivers_die_at_random(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    work = world.new_work(lines=3000, per_second=1500)
    lives = Lives(Path(work.place), work.plain(), SETTINGS, program=PROGRAM)
    plan = FaultPlan(Path(work.place) / "faults")
    kills: Counter[str] = Counter()
    started = time.monotonic()
    is_finished = False
    while not is_finished:
        newest = lives.newest()
        with lives.life(newest[0] if newest else None) as program:
            if time.monotonic() - started < SECONDS / 2 and lives.wait_for_new_checkpoint(program):
                found = lives.newest()
                if choices.random() < 0.5:
                    plan.add(choices.choice([*DRIVER_POINTS]), "kill")
                else:
                    time.sleep(choices.uniform(0, 1))
                    kill(program.process.pid)
                    kills["driver"] += 1
                wait_for_end(program)
                # A job that has finished removes its checkpoints; it may be killed before its program says so.
                is_finished = found[:1] == newest[:1] or not found[0].parent.exists()
            else:
                code, output, errors = program.end(200)
                assert code == 0, errors
                assert output == "started\nfinished\n"
                is_finished = True
    kills += plan.struck()
    assert world.problems(work) == [], f"seed {seed}, after {dict(kills)}"
    report(capsys, f"seed {seed}: {kills.total()} kills of drivers survived: {dict(kills)}", world)


@pytest.mark.slow
@pytest.mark.timeout(int(SECONDS * 3) + 900)
def test_executors_die_at_random(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    seed, choices = choices_of_this_run()
    work = world.new_work(lines=3000, per_second=1500)
    lives = Lives(Path(work.place), work.plain(), SETTINGS, master="local-cluster[2,6,1024]", program=PROGRAM)
    killed = run_while_executors_die(lives, choices, SECONDS / 2)
    assert world.problems(work) == [], f"seed {seed}, after {killed} kills"
    report(capsys, f"seed {seed}: {killed} kills of executors survived", world)
