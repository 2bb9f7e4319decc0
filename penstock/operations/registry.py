"""Where jobs are found: a directory with one small file for each, which its driver renews as long as it lives.

By default the directory belongs to the user and nobody else can read it. On a cluster it may be on any file system that
checkpoints may be on. A job whose driver does not renew its file any more is shown as lost, and is forgotten later.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.foundation.files.by_uri import files_of
from penstock.operations.settings import state_directory
from penstock.vocabulary.job import JobStatus

if TYPE_CHECKING:
    from penstock.foundation.clock import Clock

__all__ = ["HEARTBEAT_INTERVAL", "LOST", "JobRegistry", "RegistryEntry", "private_directory"]

HEARTBEAT_INTERVAL = 10_000
"""The milliseconds between two renewals of a file."""
LOST = "LOST"
"""The state of a job whose driver does not live any more."""
_MISSED_HEARTBEATS = 3
_ENDED = {status.name for status in JobStatus if status.is_globally_terminal_state()}
_SUFFIX = ".json"


@dataclass(frozen=True)
class RegistryEntry:
    """What the registry knows of a job."""

    id: str
    name: str
    state: str
    start: int
    heartbeat: int
    end: int | None = None
    address: str | None = None
    """Where the driver answers; ``None`` if it does not."""
    certificate: str | None = None
    """The file with the certificate that the driver shows, if it answers by TLS."""
    token_file: str | None = None
    """The file, readable by the owner of the job, with what has to be said to change anything."""
    host: str = ""
    process: int = 0
    log: str | None = None
    """The file that a detached job writes to."""

    @property
    def has_ended(self) -> bool:
        """Tell whether the job has come to an end that its driver told."""
        return self.state in _ENDED

    def to_json(self) -> bytes:
        """Return the content of the file."""
        return json.dumps(dataclasses.asdict(self), indent=1).encode()

    @staticmethod
    def from_json(data: bytes) -> RegistryEntry | None:
        """Return what a file says, or ``None`` if it is not one of the registry; newer ones may say more."""
        try:
            values: dict[str, Any] = json.loads(data)
            known = {each.name: values[each.name] for each in dataclasses.fields(RegistryEntry) if each.name in values}
            entry = RegistryEntry(**known)
        except (ValueError, TypeError, AttributeError):
            return None
        texts = (entry.id, entry.name, entry.state, entry.host)
        numbers = (entry.start, entry.heartbeat, entry.process, 0 if entry.end is None else entry.end)
        is_sound = all(isinstance(each, str) for each in texts) and all(isinstance(each, int) for each in numbers)
        return entry if is_sound else None


class JobRegistry:
    """The directory of jobs.

    Args:
        location: The directory; ``None`` is that of the user.
        clock: What tells how old a heartbeat is.
    """

    def __init__(self, location: str | None, clock: Clock) -> None:
        self._is_own = location is None
        self.location = str(state_directory() / "jobs") if location is None else location
        self._clock = clock

    def write(self, entry: RegistryEntry) -> None:
        """Put a job into the registry, or renew it.

        Raises:
            OSError: The directory cannot be written.
        """
        if self._is_own:
            private_directory(self.location)
        files, root = files_of(self.location)
        files.publish(f"{root}/{entry.id}{_SUFFIX}", entry.to_json())

    def entries(self) -> list[RegistryEntry]:
        """Return all jobs, the newest first; those without a living driver are ``LOST``.

        Raises:
            PenstockError: The directory cannot be read.
        """
        try:
            files, root = files_of(self.location)
            found = []
            for name in files.names_in(root):
                if name.endswith(_SUFFIX) and not name.startswith("."):
                    path = f"{root}/{name}"
                    size = files.size_of(path)
                    data = b"" if size is None else files.open(path).read_at(0, size)
                    if (entry := RegistryEntry.from_json(data)) is not None:
                        found.append(self._judged(entry))
        except OSError as error:
            message = f"The registry of jobs in {self.location} cannot be read: {error}"
            raise PenstockError(message) from error
        return sorted(found, key=lambda entry: entry.start, reverse=True)

    def clean(self, retention: int) -> None:
        """Remove jobs that ended, or were lost, longer ago than a number of milliseconds."""
        oldest = self._clock.now() - retention
        for entry in self.entries():
            last = entry.heartbeat if entry.end is None else entry.end
            if (entry.has_ended or entry.state == LOST) and last < oldest:
                self.remove(entry.id)

    def remove(self, job_id: str) -> None:
        """Forget a job."""
        files, root = files_of(self.location)
        files.delete(f"{root}/{job_id}{_SUFFIX}")

    def _judged(self, entry: RegistryEntry) -> RegistryEntry:
        if entry.has_ended:
            return entry
        is_silent = self._clock.now() - entry.heartbeat > HEARTBEAT_INTERVAL * _MISSED_HEARTBEATS
        is_gone = entry.host == socket.gethostname() and not _is_alive(entry.process)
        return dataclasses.replace(entry, state=LOST) if is_silent or is_gone else entry


def private_directory(path: str) -> None:
    """Make a directory that only its owner can enter."""
    os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103 - a path may be a text here
    if os.stat(path).st_uid != os.getuid():  # noqa: PTH116
        message = f"{path} belongs to somebody else"
        raise PermissionError(message)
    os.chmod(path, 0o700)  # noqa: PTH101


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
