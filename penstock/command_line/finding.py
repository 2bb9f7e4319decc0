"""Finds a job by its id, the beginning of its id, or its name: in the registry, or by asking a driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.launch import launch_configuration
from penstock.errors import PenstockError
from penstock.foundation.clock import SystemClock
from penstock.operations.access_token import read_token
from penstock.operations.registry import LOST, JobRegistry, RegistryEntry
from penstock.operations.rest_client import RestClient, UnreachableError

if TYPE_CHECKING:
    import argparse

__all__ = ["FoundJob", "NoSuchJobError", "choose", "find_job", "job_registry", "known_jobs"]

_SHORTEST_PREFIX = 4


class NoSuchJobError(PenstockError):
    """No job, or more than one, is called like that."""


@dataclass(frozen=True)
class FoundJob:
    """A job and the line to its driver."""

    entry: RegistryEntry
    client: RestClient

    @property
    def path(self) -> str:
        """Return the path of the job in the REST interface."""
        return f"/jobs/{self.entry.id}"


def job_registry(options: argparse.Namespace) -> JobRegistry:
    """Return the registry that the command line, or the configuration file, names."""
    location = options.registry or launch_configuration().get_string("penstock.registry.dir", None)
    return JobRegistry(location, SystemClock())


def known_jobs(options: argparse.Namespace) -> list[RegistryEntry]:
    """Return the jobs of the registry, or those of the driver that the command line names."""
    if options.address is None:
        return job_registry(options).entries()
    address = options.address if "://" in options.address else f"http://{options.address}"
    same = [entry for entry in job_registry(options).entries() if entry.address == address.rstrip("/")]
    certificate = next((entry.certificate for entry in same if entry.certificate is not None), None)
    token_file = next((entry.token_file for entry in same if entry.token_file is not None), None)
    return [
        RegistryEntry(
            id=job["jid"],
            name=job["name"],
            state=job["state"],
            start=job["start-time"],
            heartbeat=job["last-modification"],
            end=None if job["end-time"] < 0 else job["end-time"],
            address=address,
            certificate=certificate,
            token_file=token_file,
        )
        for job in RestClient(address, certificate=certificate).get("/jobs/overview")["jobs"]
    ]


def find_job(options: argparse.Namespace, wanted: str) -> FoundJob:
    """Return the one job that runs and is called like that, with the line to its driver.

    Raises:
        NoSuchJobError: There is none, or there are several.
        UnreachableError: Its driver cannot be asked.
    """
    entry = choose(known_jobs(options), wanted)
    if entry.address is None:
        message = (
            f"The job {entry.name!r} ({entry.id}) runs, but its driver takes no requests: it was started without"
            " penstock[web], or with penstock.rest.enabled: false."
        )
        raise UnreachableError(message)
    token_file = options.token_file or entry.token_file
    try:
        token = None if token_file is None else read_token(token_file)
    except (OSError, ValueError) as error:
        message = f"The token of the job {entry.name!r} cannot be read: {error}. --token-file names another file."
        raise UnreachableError(message) from error
    return FoundJob(entry, RestClient(entry.address, token, entry.certificate))


def choose(entries: list[RegistryEntry], wanted: str) -> RegistryEntry:
    """Return the one job that runs and is called like that; ids win over names."""
    if not wanted:
        message = "Name a job: its id, the beginning of its id, or its name."
        raise NoSuchJobError(message)
    running = [entry for entry in entries if not entry.has_ended and entry.state != LOST]
    for found in (_by_id(running, wanted), [entry for entry in running if entry.name == wanted]):
        if len(found) == 1:
            return found[0]
        if found:
            lines = "\n".join(f"  {entry.id}  {entry.name}" for entry in found)
            message = f"{len(found)} jobs are called {wanted!r}; give more of the id:\n{lines}"
            raise NoSuchJobError(message)
    over = [entry for entry in entries if entry not in running]
    ended = [*_by_id(over, wanted), *(entry for entry in over if entry.name == wanted)]
    if ended:
        what = (
            "is lost: its driver does not live any more" if ended[0].state == LOST else f"has ended: {ended[0].state}"
        )
        message = f"The job {ended[0].name!r} ({ended[0].id}) {what}."
        raise NoSuchJobError(message)
    message = f"No job is called {wanted!r}; penstock list shows those that run."
    raise NoSuchJobError(message)


def _by_id(entries: list[RegistryEntry], wanted: str) -> list[RegistryEntry]:
    lower = wanted.lower()
    if len(lower) < _SHORTEST_PREFIX:
        return []
    return [entry for entry in entries if entry.id.startswith(lower)]
