"""Executors of a cluster, found among the processes of a program, and killed."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.chaos.lives import Lives
from tests.spark.processes import Program, kill

__all__ = ["executors_of", "run_while_executors_die"]


def run_while_executors_die(lives: Lives, choices: random.Random, seconds: float) -> int:
    """Runs the program to its end and kills executors for some seconds, at least one; returns how many."""
    killed = 0
    started = time.monotonic()
    with lives.life(None) as program:
        while killed == 0 or time.monotonic() - started < seconds:
            if not lives.wait_for_new_checkpoint(program):
                break
            time.sleep(choices.uniform(0, 0.5))
            executors = executors_of(program)
            if executors:
                kill(choices.choice(executors))
                killed += 1
        code, output, errors = program.end(200)
        assert code == 0, errors
        assert output == "started\nfinished\n"
    assert killed > 0
    return killed


def executors_of(program: Program) -> list[int]:
    """Returns the executors that a program has at the moment."""
    found = program.left_behind().items()
    return sorted(
        process for process, command in found if "CoarseGrainedExecutorBackend" in _full_command(process, command)
    )


def _full_command(process: int, command: str) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return command
