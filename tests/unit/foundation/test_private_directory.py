"""Temporary directories are private and go with their process, however it ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.foundation.private_directory import private_directory, remove_private_directory

PROGRAM = """
import os, signal, sys
from penstock.foundation.private_directory import private_directory
directory = private_directory("test", sys.argv[1])
(directory / "file").write_text("x")
print(directory, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif sys.argv[2] == "wait":
    sys.stdin.read()
"""


def start(place: Path, what: str) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", PROGRAM, str(place), what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_directory_belongs_to_this_user_alone(tmp_path: Path) -> None:
    directory = private_directory("test", str(tmp_path))
    for path in (directory, directory.parent, directory.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert tmp_path in directory.parents
    remove_private_directory(directory)


def test_the_last_directory_leaves_nothing_behind(tmp_path: Path) -> None:
    first, second = (private_directory("test", str(tmp_path)) for _ in range(2))
    remove_private_directory(first)
    assert second.is_dir()
    remove_private_directory(second)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_goes_with_its_process(tmp_path: Path) -> None:
    process, directory = start(tmp_path, "end")
    process.communicate(timeout=60)
    assert not directory.parent.exists()


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_of_one_that_lives(tmp_path: Path) -> None:
    killed, left = start(tmp_path, "kill")
    assert killed.wait(60) == -signal.SIGKILL
    killed.communicate()
    living, used = start(tmp_path, "wait")
    assert used.is_dir()
    assert not left.parent.exists()
    directory = private_directory("test", str(tmp_path))
    assert (used / "file").read_text() == "x"
    living.communicate(timeout=60)
    remove_private_directory(directory)
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_somebody_put_there_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / "place"
    place.mkdir()
    (place / f"penstock-{os.getuid()}").symlink_to(elsewhere)
    directory = private_directory("test", str(place))
    assert list(elsewhere.iterdir()) == []
    remove_private_directory(directory)


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_directory_that_others_may_enter_is_closed(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / f"penstock-{os.getuid()}"
    shared.mkdir()
    shared.chmod(mode)
    directory = private_directory("test", str(tmp_path))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    remove_private_directory(directory)
