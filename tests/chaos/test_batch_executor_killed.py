"""An executor dies in the middle of a batch job: what was lost is computed again, and each result written once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.spark.processes import program
from tests.spark.test_programs import PROGRAMS


@pytest.mark.timeout(400)
def test_an_executor_that_is_killed_in_a_batch_job(tmp_path: Path) -> None:
    with program(tmp_path, PROGRAMS / "batch_jobs.py", "local-cluster[2,1,1024]", str(tmp_path)) as started:
        lines = started.run(350).splitlines()
        assert re.fullmatch(r"run again: \[\(.*\)\]", lines[4])
        assert lines[5:] == ["hidden: []", "each sum once: True"]
        started.wait_until_nothing_is_left()
