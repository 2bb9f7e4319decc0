"""What a driver does so that its jobs can be operated from outside: registers them, renews that, serves them.

There is one for all jobs of a process. Nothing here may make a job fail, or slow its start: files are written by a
thread of their own, and what does not work is said in the log.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import logging
import os
import socket
import threading
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.foundation.clock import SystemClock
from penstock.operations.access_token import AccessToken
from penstock.operations.registry import HEARTBEAT_INTERVAL, JobRegistry, RegistryEntry
from penstock.operations.rest.served_jobs import ServedJobs
from penstock.operations.rest.server import RestServer, is_web_installed
from penstock.operations.settings import installed_version

if TYPE_CHECKING:
    from penstock.operations.job_facts import JobFacts
    from penstock.operations.rest.served_jobs import JobControl
    from penstock.operations.settings import OperationsSettings
    from penstock.vocabulary.job import JobStatus

__all__ = ["ANNOUNCE_VARIABLE", "LOG_VARIABLE", "DriverService", "driver_service"]

_log = logging.getLogger("penstock.operations")
_FAREWELL_SECONDS = 3.0
ANNOUNCE_VARIABLE = "PENSTOCK_ANNOUNCE_FD"
"""Names the open file to which a detached driver writes that its job runs."""
LOG_VARIABLE = "PENSTOCK_LOG_FILE"
"""Names the file that a detached driver writes to."""


class DriverService:
    """Registers and serves the jobs of this process."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._entries: dict[str, tuple[RegistryEntry, JobRegistry]] = {}
        self._stale: set[str] = set()
        """The jobs whose files are to be written now."""
        self._token = AccessToken()
        self._jobs: ServedJobs | None = None
        self._server: RestServer | None = None
        self.is_introducing = False
        """Whether jobs say their id and address when they start, as those of ``penstock run`` do."""
        self._missing = "" if is_web_installed() else "commands cannot reach it: pip install 'penstock[web]'"
        self._said: set[str] = set()
        """What was said and need not be said again."""
        self._writer: threading.Thread | None = None

    def publish(self, facts: JobFacts, control: JobControl, settings: OperationsSettings) -> list[str]:
        """Register a job that is about to start, and serve it; return what its start says about that, if anything."""
        address = self._serve(facts, control, settings)
        entry = RegistryEntry(
            id=facts.id,
            name=facts.name,
            state=facts.status.name,
            start=facts.started,
            heartbeat=facts.started,
            address=address,
            certificate=settings.certificate,
            token_file=None if self._token.file is None else str(self._token.file),
            host=socket.gethostname(),
            process=os.getpid(),
            log=os.environ.get(LOG_VARIABLE),
        )
        with self._changed:
            self._entries[facts.id] = (entry, JobRegistry(settings.registry, self._clock))
            self._stale.add(facts.id)
            if self._writer is None:
                self._writer = threading.Thread(
                    target=self._write, args=(settings.retention,), name="penstock registry", daemon=True
                )
                self._writer.start()
            self._changed.notify_all()
        facts.on_status(lambda status: self._on_status(facts, status))
        return self._introduction(facts, address)

    def _introduction(self, facts: JobFacts, address: str | None) -> list[str]:
        """Say once what somebody who looks at the job needs to know: its id, where it is served, where it starts."""
        missing, self._missing = self._missing, ""
        where = f", at {address}" if address is not None else f"; {missing}" if missing else ""
        origin = facts.job.restore_path
        lines = [f"id {facts.id}{where}", *([] if origin is None else [f"starts from {origin}"])]
        if self.is_introducing:
            return lines
        _log.info("job %r: %s", facts.name, ", ".join(lines))
        return []

    def farewell(self, job_id: str) -> None:
        """Wait a little until those who asked for something that ended a job have learned how it went."""
        if self._jobs is not None and self._server is not None:
            self._jobs.triggers.wait_until_told(job_id, _FAREWELL_SECONDS)

    def flush(self) -> None:
        """Write what has changed; the last state of a job has to get into the registry before the process ends."""
        with self._writing:  # so that an older state never comes behind a newer one
            with self._changed:
                stale, self._stale = self._stale, set()
                due = [self._entries[job_id] for job_id in sorted(stale)]
            for entry, registry in due:
                self._write_entry(entry, registry)

    def _serve(self, facts: JobFacts, control: JobControl, settings: OperationsSettings) -> str | None:
        if not settings.is_served:
            return None
        if not is_web_installed():
            return None
        if self._jobs is None:
            self._jobs = ServedJobs(settings)
        self._jobs.add(facts, control)
        if self._server is None:
            try:
                self._token.store()
                self._server = RestServer(self._jobs, self._token, settings, installed_version())
            except OSError as error:
                self._say_once(f"No command and no page reaches this job: {error}")
                return None
            atexit.register(self._token.remove)
        return self._server.address

    def _on_status(self, facts: JobFacts, status: JobStatus) -> None:
        with self._changed:
            entry, registry = self._entries[facts.id]
            changed = dataclasses.replace(entry, state=status.name, end=facts.ended, heartbeat=self._clock.now())
            self._entries[facts.id] = (changed, registry)
            self._stale.add(facts.id)
            self._changed.notify_all()
        if status.is_globally_terminal_state():
            self.flush()  # by the thread that ends the job: the process may end right after it
            if self._jobs is not None:
                self._jobs.ended(facts.id)
        _announce(changed)

    def _write(self, retention: int) -> None:
        next_heartbeat = self._clock.elapsed() + HEARTBEAT_INTERVAL
        self._clean(retention)
        while True:
            with self._changed:
                wait = next_heartbeat - self._clock.elapsed()
                self._changed.wait_for(lambda: bool(self._stale), max(0, wait) / 1000)
                if self._clock.elapsed() >= next_heartbeat:
                    next_heartbeat = self._clock.elapsed() + HEARTBEAT_INTERVAL
                    self._beat()
            self.flush()

    def _beat(self) -> None:
        now = self._clock.now()
        for job_id, (entry, registry) in self._entries.items():
            if not entry.has_ended:
                self._entries[job_id] = (dataclasses.replace(entry, heartbeat=now), registry)
                self._stale.add(job_id)

    def _clean(self, retention: int) -> None:
        with self._changed:
            registries = [registry for _, registry in self._entries.values()]
        for registry in registries[:1]:
            try:
                registry.clean(retention)
            except (OSError, PenstockError) as error:
                _log.info("The registry of jobs in %s cannot be cleaned: %s", registry.location, error)

    def _write_entry(self, entry: RegistryEntry, registry: JobRegistry) -> None:
        try:
            registry.write(entry)
        except (OSError, PenstockError) as error:
            self._say_once(f"Jobs cannot be registered in {registry.location}, so no command finds them: {error}")

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            _log.warning("%s", text)


_lock = threading.Lock()
_service: DriverService | None = None


def driver_service() -> DriverService:
    """Return the one of this process."""
    global _service
    with _lock:
        if _service is None:
            _service = DriverService()
        return _service


def _announce(entry: RegistryEntry) -> None:
    """Tell whoever started this process detached that its first job runs, or has ended."""
    number = os.environ.get(ANNOUNCE_VARIABLE)
    if number is None or not (entry.has_ended or entry.state == "RUNNING"):
        return
    del os.environ[ANNOUNCE_VARIABLE]
    line = json.dumps({"id": entry.id, "name": entry.name, "state": entry.state, "address": entry.address})
    try:
        with os.fdopen(int(number), "w", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except (OSError, ValueError) as error:
        _log.info("nobody listens any more: %s", error)
