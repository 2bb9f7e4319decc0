"""The files of stored state that are kept for ever, and how they are made.

``python -m tests.unit.golden.archive`` makes those that are missing; one that is there is never made again. It is run
when there is a new form of stored state: a new program, backend or class, or a new version of a file's format. What an
older Penstock has written stays beside it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from penstock.checkpoint.metadata import METADATA
from penstock.statestore.value_codec import store_value
from penstock.testing import LocalCheckpoint, LocalRun
from tests.unit.golden.programs import ITEMS, PROGRAMS
from tests.unit.golden.values import VALUES
from tests.unit.runtime.checkpoint.recovery_bench import job_of
from tests.unit.runtime.task.slow_run import Slow

__all__ = ["FILES", "FORMS", "STEPS", "new_run", "unpacked"]

FILES = Path(__file__).parent / "files"
"""By format, the archives: one for each snapshot."""
FORMAT = "1"
"""Counts up with the first file whose form is another one."""
STEPS = 5
"""How many records have been read when a snapshot is taken."""


def new_run(program: str, backend: str, restore: LocalCheckpoint | None = None, parallelism: int = 1) -> LocalRun:
    """A run of a program that is kept."""
    return LocalRun(job_of(PROGRAMS[program], parallelism, backend), restore=restore)


def _savepoint(program: str, backend: str, directory: Path) -> str:
    run = new_run(program, backend)
    for _ in range(STEPS):
        run.step()
    path = run.savepoint(directory)
    run.close()
    return path


def _checkpoint(program: str, backend: str, directory: Path) -> str:
    run = new_run(program, backend)
    for _ in range(STEPS):
        run.step()
    checkpoint = run.complete_checkpoint(run.trigger_checkpoint(), notify=False)
    run.close()
    (directory / METADATA).write_bytes(checkpoint.metadata.encode())
    return str(directory)


def _unaligned(program: str, backend: str, directory: Path) -> str:
    job = job_of(PROGRAMS[program], 2, backend)
    job.checkpoints.enable_unaligned_checkpoints()
    slow = Slow(job)
    for _ in range(2):
        slow.poll(0)
        slow.poll(1)
    slow.run.checkpoints.begin()
    slow.send_all()
    for subtask in range(2):  # the barrier of one sender is there, and the records of the other are not
        slow.deliver(len(ITEMS), sender=0, index=subtask)
    slow.run.settle()
    slow.run.checkpoints.work()
    (directory / METADATA).write_bytes(slow.run.checkpoints.complete[0].metadata.encode())
    slow.run.close()
    return str(directory)


FORMS: dict[str, tuple[Callable[[str, str, Path], str], tuple[str, ...]]] = {
    "savepoint": (_savepoint, ("states", "windows", "sinks")),
    "checkpoint": (_checkpoint, ("states", "windows", "sinks")),
    "unaligned": (_unaligned, ("exchange",)),
}
"""How a snapshot is taken, and of which programs."""


def unpacked(archive: Path, directory: Path) -> Path:
    """Unpack a snapshot and return its directory."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(directory)
    return directory


def _pack(source: Path, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(source.iterdir()):
            # The time of day is no part of what is kept.
            packed.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)


def _make() -> None:
    for form, (take, programs) in FORMS.items():
        for program in programs:
            for backend in ("heap", "rocksdb"):
                archive = FILES / FORMAT / f"{program}-{form}-{backend}.zip"
                if not archive.exists():
                    directory = Path(tempfile.mkdtemp())
                    _pack(Path(take(program, backend, directory)), archive)
                    shutil.rmtree(directory)
                    sys.stdout.write(f"{archive}\n")
    for name, value in VALUES.items():
        file = FILES / FORMAT / "values" / f"{name}.bin"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(store_value(value))
            sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    _make()
