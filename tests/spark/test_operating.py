"""A day of somebody who operates a job from another terminal: each command is a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from penstock.operations.rest.server import is_web_installed
from tests.spark.processes import REPOSITORY, is_alive, kill

PROGRAM = Path(__file__).parent / "programs" / "operated.py"
LINE = re.compile(r"(?:\d+> )?(\d+) is number (\d+)")

pytestmark = [pytest.mark.skipif(not is_web_installed(), reason="needs penstock[web]"), pytest.mark.timeout(300)]


class Terminal:
    """Runs commands with a registry of its own."""

    def __init__(self, directory: Path) -> None:
        self._environment = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}
        self._environment["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
        self._directory = directory

    def say(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", *arguments],
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def json(self, command: str, *arguments: str) -> Any:
        done = self.say(command, "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def run(self, *arguments: str) -> dict[str, Any]:
        job: dict[str, Any] = self.json("run", "-d", *arguments)
        return job

    def end_all(self) -> None:
        for entry in (self._directory / "state" / "penstock" / "jobs").glob("*.json"):
            kill(json.loads(entry.read_text(encoding="utf-8"))["process"])


def run_options(directory: Path) -> list[str]:
    return [
        "-D", "execution.checkpointing.interval=200 ms",
        "-D", f"execution.checkpointing.dir=file://{directory}/checkpoints",
        "-D", f"execution.checkpointing.savepoint-dir=file://{directory}/savepoints",
        "-D", "rest.port=0",
    ]  # fmt: skip


def get(job: dict[str, Any], path: str) -> Any:
    with urllib.request.urlopen(f"{job['address']}/v1/jobs/{job['id']}{path}", timeout=20) as answer:
        return json.load(answer)


def counted(job: dict[str, Any]) -> dict[int, int]:
    lines = Path(job["log"]).read_text(encoding="utf-8").splitlines()
    return {int(found[1]): int(found[2]) for line in lines if (found := LINE.fullmatch(line))}


def test_a_job_is_run_detached_listed_saved_cancelled_resumed_and_stopped_from_outside(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    try:
        _day(terminal, tmp_path)
    finally:
        terminal.end_all()


def _day(terminal: Terminal, directory: Path) -> None:
    first = terminal.run("-p", "2", *run_options(directory), str(PROGRAM))
    assert first["state"] == "RUNNING"
    assert f"{first['id']} : operated (RUNNING)" in terminal.say("list").stdout
    details = get(first, "")
    assert [vertex["status"] for vertex in details["vertices"]] == ["RUNNING", "RUNNING"]
    number = terminal.json("checkpoint", "operated")["checkpointId"]
    assert get(first, f"/checkpoints/details/{number}")["status"] == "COMPLETED"
    assert get(first, "/checkpoints")["latest"]["completed"]["state_size"] > 0

    path = terminal.json("savepoint", first["id"][:8])["location"]
    assert path.startswith(f"file://{directory}/savepoints/savepoint-{first['id'][:6]}")
    assert is_alive(first["process"])
    cancelled = terminal.say("cancel", "-s", "operated")
    assert cancelled.returncode == 0, cancelled.stderr
    path = cancelled.stdout.rpartition("Savepoint stored in ")[2].strip().removesuffix(".")
    assert terminal.say("cancel", "operated").returncode == 3
    (ended,) = terminal.json("list", "-a")
    assert (ended["id"], ended["state"]) == (first["id"], "CANCELED")

    second = terminal.run("-p", "3", "-s", path, *run_options(directory), str(PROGRAM))
    details = get(second, "")
    assert [vertex["parallelism"] for vertex in details["vertices"]] == [1, 3]
    assert get(second, "/checkpoints")["latest"]["restored"]["external_path"] == path
    # Further on than the first run came, so that what it had counted is needed.
    while max(counted(second), default=-1) <= max(counted(first), default=0):
        assert is_alive(second["process"])
        time.sleep(0.2)
    stopped = terminal.say("stop", "--drain", "operated")
    assert stopped.returncode == 0, stopped.stderr
    assert "Savepoint completed. Path: file://" in stopped.stdout
    states = {entry["id"]: entry["state"] for entry in terminal.json("list", "-a")}
    assert states == {first["id"]: "CANCELED", second["id"]: "FINISHED"}

    for job in (first, second):
        assert counted(job)
        assert all(count == value // 4 + 1 for value, count in counted(job).items())
    assert set(range(max(counted(second)) + 1)) == counted(first).keys() | counted(second).keys()


def test_a_detached_job_that_cannot_start_says_why(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    done = terminal.say("run", "-d", "-s", str(tmp_path / "nowhere"), *run_options(tmp_path), str(PROGRAM))
    assert done.returncode == 1
    assert "There is no checkpoint or savepoint at" in done.stderr
