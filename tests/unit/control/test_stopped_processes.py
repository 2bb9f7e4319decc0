"""Processes that were stopped with a signal: found, and ended for good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from penstock.execution.spark.control.heartbeats import HeartbeatSettings
from penstock.execution.spark.worker.standing_processes import StandingProcesses, ancestors, is_stopped

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the timers and files of Linux")

ARMED = """
import os, signal, sys, time
from penstock.execution.spark.worker.dead_man_switch import DeadManSwitch
switch = DeadManSwitch()
assert switch.is_working
switch.arm(300)
if sys.argv[1] == "stops":
    os.kill(os.getpid(), signal.SIGSTOP)
elif sys.argv[1] == "speaks":
    for _ in range(6):
        time.sleep(0.1)
        switch.arm(300)
    switch.close()
time.sleep(1 if sys.argv[1] != "stops" else 60)
"""


def run(what: str) -> int:
    return subprocess.run([sys.executable, "-c", ARMED, what], check=False, timeout=50).returncode


def test_the_system_ends_a_process_that_was_stopped() -> None:
    assert run("stops") == -signal.SIGKILL


def test_the_system_ends_a_process_that_does_not_speak() -> None:
    assert run("is silent") == -signal.SIGKILL


def test_a_process_that_speaks_lives() -> None:
    assert run("speaks") == 0


def test_a_stopped_process_is_found_once_it_has_stood_for_the_timeout() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        standing = StandingProcesses(HeartbeatSettings(1_000, 5_000), [process.pid])
        assert standing.look(0) == []
        os.kill(process.pid, signal.SIGSTOP)
        deadline = time.monotonic() + 10
        while not is_stopped(process.pid):
            assert time.monotonic() < deadline
        assert standing.look(1_000) == []
        assert standing.look(6_000) == []
        assert standing.look(6_001) == [process.pid]
        os.kill(process.pid, signal.SIGCONT)
        while is_stopped(process.pid):
            assert time.monotonic() < deadline
        assert standing.look(20_000) == []
    finally:
        process.kill()
        process.wait()
    assert standing.look(30_000) == []


def test_the_processes_above() -> None:
    assert ancestors()[0] == os.getppid()
