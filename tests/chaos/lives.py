"""A job as a user runs it, started again and again from its newest checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.chaos.replayed_job import Readings
from tests.spark.jobs import wait_until
from tests.spark.processes import REPOSITORY, Program, ending

__all__ = ["Lives"]

PROGRAM = Path(__file__).parent / "programs" / "replayed.py"


class Lives:
    """Starts the program with ``penstock run``; its directory has the configuration file and all that comes of it."""

    def __init__(
        self,
        place: Path,
        work: Readings | dict[str, Any],
        settings: dict[str, str],
        master: str | None = None,
        program: Path = PROGRAM,
    ) -> None:
        self.place = place
        self.work = work if isinstance(work, dict) else asdict(work)
        self.master = master
        self.program = program
        self.output = place / "output"
        self.checkpoints = place / "checkpoints"
        lines = {"execution.checkpointing.dir": f"file://{self.checkpoints}", **settings}
        configuration = "".join(f"{key}: {value}\n" for key, value in lines.items())
        (place / "penstock-conf.yaml").write_text(configuration, encoding="utf-8")

    def newest(self) -> list[Path]:
        """Returns the complete checkpoints of all lives, the newest first."""
        found = [(path.stat().st_mtime_ns, path.parent) for path in self.checkpoints.glob("*/chk-*/_metadata")]
        return [path for _, path in sorted(found, reverse=True)]

    @contextmanager
    def life(self, restore: Path | None) -> Iterator[Program]:
        """Starts the program from a checkpoint; ends it and everything it started at the latest when the block ends."""
        errors = self.place / "errors"
        command = [sys.executable, "-m", "penstock", "run"]
        command += [] if restore is None else ["-s", f"file://{restore}/_metadata"]
        command += [] if self.master is None else ["-m", self.master]
        command += [str(self.program), str(self.place), json.dumps(self.work)]
        with errors.open("a", encoding="utf-8") as file:
            process = subprocess.Popen(
                command,
                cwd=self.place,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        with ending(Program(process, errors)) as started:
            yield started

    def wait_for_new_checkpoint(self, program: Program, seconds: float = 240) -> bool:
        """Waits until this life has completed a checkpoint; tells whether it did before it ended."""
        before = self.newest()[:1]
        deadline = time.monotonic() + seconds
        while self.newest()[:1] == before:
            assert time.monotonic() < deadline, program.errors.read_text(encoding="utf-8")
            if program.process.poll() is not None:
                return False
            time.sleep(0.02)
        return True


def wait_for_end(program: Program) -> None:
    """Waits until a program that was killed, or killed itself, is gone."""
    wait_until(lambda: program.process.poll() is not None, "the driver is gone", 30)
