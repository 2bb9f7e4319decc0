"""The registry: jobs are found while their drivers live, shown as lost when they do not, and then forgotten."""

from __future__ import annotations

import dataclasses
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.foundation.clock import ManualClock
from penstock.operations.registry import HEARTBEAT_INTERVAL, JobRegistry, RegistryEntry

DAY = 86_400_000


def entry(number: int = 1, **changes: object) -> RegistryEntry:
    made = RegistryEntry(
        id=f"{number:032x}",
        name=f"job {number}",
        state="RUNNING",
        start=number,
        heartbeat=DAY,
        host=socket.gethostname(),
        process=os.getpid(),
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(DAY)


@pytest.fixture
def registry(tmp_path: Path, clock: ManualClock) -> JobRegistry:
    return JobRegistry(str(tmp_path / "jobs"), clock)


def test_entries_are_read_back_the_newest_first(registry: JobRegistry) -> None:
    first, second = entry(1, address="http://localhost:8081", token_file="/t"), entry(2)
    registry.write(first)
    registry.write(second)
    assert registry.entries() == [second, first]


def test_an_empty_registry_need_not_exist(registry: JobRegistry) -> None:
    assert registry.entries() == []


def test_a_driver_that_misses_three_heartbeats_is_lost_and_comes_back_with_the_next(
    registry: JobRegistry, clock: ManualClock
) -> None:
    registry.write(entry(host="elsewhere"))
    clock.advance(3 * HEARTBEAT_INTERVAL)
    assert [each.state for each in registry.entries()] == ["RUNNING"]
    clock.advance(1)
    assert [each.state for each in registry.entries()] == ["LOST"]
    registry.write(entry(host="elsewhere", heartbeat=clock.now()))
    assert [each.state for each in registry.entries()] == ["RUNNING"]


def test_a_driver_of_this_machine_whose_process_is_gone_is_lost_at_once(registry: JobRegistry) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    registry.write(entry(process=gone.pid))
    assert [each.state for each in registry.entries()] == ["LOST"]


def test_a_job_that_ended_is_not_lost(registry: JobRegistry, clock: ManualClock) -> None:
    registry.write(entry(state="FINISHED", end=DAY, host="elsewhere"))
    clock.advance(10 * HEARTBEAT_INTERVAL)
    assert [each.state for each in registry.entries()] == ["FINISHED"]


def test_cleaning_forgets_what_ended_or_was_lost_long_ago_and_nothing_that_runs(
    registry: JobRegistry, clock: ManualClock
) -> None:
    registry.write(entry(1, state="FINISHED", end=DAY))
    registry.write(entry(2, host="elsewhere"))
    registry.write(entry(3, state="FAILED", end=DAY + 1))
    clock.advance(DAY + 1)
    registry.write(entry(4, heartbeat=clock.now()))
    registry.clean(DAY)
    assert [each.id for each in registry.entries()] == [f"{4:032x}", f"{3:032x}"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"id": 1}', b'{"id": 1, "name": 2, "state": 3, "start": "x"}'])
def test_what_is_no_entry_is_passed_over(registry: JobRegistry, content: bytes) -> None:
    registry.write(entry())
    (Path(registry.location) / "other.json").write_bytes(content)
    assert len(registry.entries()) == 1


def test_an_entry_of_a_newer_version_may_say_more(registry: JobRegistry) -> None:
    registry.write(entry())
    path = Path(registry.location) / f"{1:032x}.json"
    path.write_bytes(path.read_bytes().replace(b"{", b'{"more": [], ', 1))
    assert registry.entries() == [entry()]


def test_the_directory_of_the_user_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    registry = JobRegistry(None, clock)
    registry.write(entry())
    assert registry.location == str(tmp_path / "penstock" / "jobs")
    assert stat.S_IMODE((tmp_path / "penstock" / "jobs").stat().st_mode) == 0o700
