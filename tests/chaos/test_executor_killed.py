"""An executor dies under a job: the job fails or restarts, and the next job runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.spark.processes import program
from tests.spark.test_programs import PROGRAMS


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_executor_that_is_killed(tmp_path: Path) -> None:
    with program(tmp_path, PROGRAMS / "executor_killed.py", "local-cluster[2,8,1024]") as started:
        lines = started.run(250).splitlines()
        failure = re.fullmatch(r"WorkerLostError (\d+) A worker of the job 'victim' died: (.*)", lines[0])
        assert failure is not None, lines[0]
        assert int(failure[1]) < 20  # seconds; a hang guard
        assert lines[1:] == ["FAILED", "[1, 2, 3, 4, 5]", "runs again", "CANCELED"]
        started.wait_until_nothing_is_left()
