"""A driver that is interrupted, terminated or killed leaves nothing running."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.spark.processes import Program, program

ENDLESS = Path(__file__).parents[1] / "spark" / "programs" / "endless.py"

pytestmark = pytest.mark.timeout(240)


def wait_until_it_prints(started: Program) -> None:
    """Waits until both subtasks print: then everything is open."""
    missing = {"1", "2"}
    while missing:
        number, sign, _ = started.line().partition("> ")
        assert sign
        missing.discard(number)
    assert len(started.left_behind()) >= 4  # driver, JVM, daemon, workers


def test_ctrl_c(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    with program(tmp_path, ENDLESS, str(diary)) as started:
        wait_until_it_prints(started)
        os.killpg(started.process.pid, signal.SIGINT)  # a terminal sends it to the whole process group
        code, _, errors = started.end(40)
        assert code != 0
        assert errors.splitlines()[-1] == "KeyboardInterrupt"
        assert "java" not in errors
        assert "Broken pipe" not in errors
        assert diary.read_text().split() == ["open", "open", "close", "close"]
        started.wait_until_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    with program(tmp_path, ENDLESS, str(tmp_path / "diary")) as started:
        wait_until_it_prints(started)
        os.kill(started.process.pid, number)
        code, _, _ = started.end(40)
        assert code == -number
        started.wait_until_nothing_is_left()
