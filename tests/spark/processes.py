"""Programs run as a user runs them, and what is left of them in the process table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Program", "children_of", "ending", "is_alive", "kill", "program"]

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Program:
    """A program in a session of its own, so that everything it starts can be found."""

    process: subprocess.Popen[str]
    errors: Path

    def line(self) -> str:
        """Returns the next line of its standard output."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended: {self.errors.read_text()}"
        return line.rstrip("\n")

    def end(self, seconds: float = 100) -> tuple[int, str, str]:
        """Waits for its end; returns the exit code, the rest of its output and its errors."""
        output, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, output, self.errors.read_text()

    def run(self, seconds: float = 100) -> str:
        """Waits for its end, which must be a good one; returns its output."""
        code, output, errors = self.end(seconds)
        assert code == 0, errors
        return output

    def left_behind(self) -> dict[int, str]:
        """Returns the processes of its session that still run."""
        return {
            int(entry.name): command
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and (command := _running_command(entry, self.process.pid)) is not None
        }

    def wait_until_nothing_is_left(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while left := self.left_behind():
            assert time.monotonic() < deadline, f"still running after {seconds} s: {left}"
            time.sleep(0.1)


def _running_command(entry: Path, session: int) -> str | None:
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, its_session = fields[0], int(fields[3])
    return command[:200] if its_session == session and state != "Z" else None


@contextmanager
def program(directory: Path, script: Path, *arguments: str, **environment: str) -> Iterator[Program]:
    """Starts a script with Penstock on its path; ends it and everything it started at the latest when the test ends."""
    errors = directory / f"{script.stem}.errors"
    settings = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1", **environment}
    with errors.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            cwd=directory,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            start_new_session=True,
            # Tests that run in the background of a shell ignore Ctrl-C, and so would what they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    with ending(Program(process, errors)) as started:
        yield started


@contextmanager
def ending(started: Program) -> Iterator[Program]:
    """Ends a program and everything it started at the latest when the block ends."""
    try:
        yield started
    finally:
        for left in started.left_behind():
            kill(left)
        started.process.wait()
        assert started.process.stdout is not None
        started.process.stdout.close()


def kill(process: int) -> None:
    """Kills a process that may be gone already."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def children_of(process: int) -> list[int]:
    """Returns the processes whose parent is the given one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == process:
                found.append(int(entry.name))
    return found
