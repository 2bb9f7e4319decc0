"""``penstock savepoint``, ``checkpoint``, ``cancel`` and ``stop``: what changes a job that runs elsewhere."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from penstock.command_line.finding import find_job, known_jobs
from penstock.foundation.clock import pause
from penstock.operations.rest_client import RefusedError, UnreachableError

if TYPE_CHECKING:
    import argparse

    from penstock.command_line.finding import FoundJob

__all__ = ["cancel", "checkpoint", "savepoint", "stop"]

_LOOK_SECONDS = 0.2
_RESUME = "You can resume your program from this savepoint with the run command."


def savepoint(options: argparse.Namespace) -> int:
    """Take a savepoint, or remove one."""
    if options.path is not None:
        return _dispose(options)
    if options.job is None:
        sys.stderr.write("Name a job to take a savepoint of, or a savepoint to remove (-d PATH).\n")
        return 2
    job = find_job(options, options.job)
    _say(options, f"Triggering savepoint for job {job.entry.id}.")
    body = {} if options.directory is None else {"target-directory": options.directory}
    return _triggered(
        options, job, "savepoints", body, "savepoints", "Savepoint completed. Path: {location}\n" + _RESUME
    )


def checkpoint(options: argparse.Namespace) -> int:
    """Take a checkpoint."""
    job = find_job(options, options.job)
    kind = "FULL" if options.full else "CONFIGURED"
    _say(options, f"Triggering checkpoint for job {job.entry.id}.")
    text = f"Checkpoint({kind}) {{checkpointId}} for job {job.entry.id} completed."
    return _triggered(options, job, "checkpoints", {"checkpointType": kind}, "checkpoints", text)


def stop(options: argparse.Namespace) -> int:
    """End a job with a savepoint."""
    job = find_job(options, options.job)
    _say(options, f"Suspending job {job.entry.id!r} with a savepoint.")
    body: dict[str, Any] = {"drain": options.drain}
    if options.directory is not None:
        body["targetDirectory"] = options.directory
    return _triggered(options, job, "stop", body, "savepoints", "Savepoint completed. Path: {location}")


def cancel(options: argparse.Namespace) -> int:
    """Cancel a job."""
    if options.job is None and options.savepoint:
        # "cancel -s JOB": what looks like the directory is the job, as in Flink.
        options.job, options.savepoint = options.savepoint, ""
    if options.job is None:
        sys.stderr.write("Name the job to cancel.\n")
        return 2
    job = find_job(options, options.job)
    if options.savepoint is not None:
        _say(options, f"Cancelling job {job.entry.id} with a savepoint.")
        body: dict[str, Any] = {"cancel-job": True}
        if options.savepoint:
            body["target-directory"] = options.savepoint
        options.detached = False
        text = f"Cancelled job {job.entry.id}. Savepoint stored in {{location}}."
        return _triggered(options, job, "savepoints", body, "savepoints", text)
    _say(options, f"Cancelling job {job.entry.id}.")
    job.client.send("PATCH", f"{job.path}?mode=cancel")
    state = _wait_for_the_end(options, job)
    if state != "CANCELED":
        message = f"The job {job.entry.id} was not cancelled: it came to its end before, {state}."
        raise RefusedError(message)
    _print(options, {"id": job.entry.id, "state": state}, f"Cancelled job {job.entry.id}.")
    return 0


def _dispose(options: argparse.Namespace) -> int:
    # Few commands need it, and it brings much with it.
    from penstock.savepoints import delete_savepoint

    if options.job is not None:
        sys.stderr.write("A savepoint is removed by its path alone; leave the job out.\n")
        return 2
    delete_savepoint(options.path)
    sys.stdout.write(f"Removed {options.path}.\n")
    return 0


def _triggered(
    options: argparse.Namespace, job: FoundJob, path: str, body: dict[str, Any], asked: str, text: str
) -> int:
    trigger = job.client.send("POST", f"{job.path}/{path}", body)["request-id"]
    where = f"{job.path}/{asked}/{trigger}"
    if options.detached:
        _print(options, {"id": job.entry.id, "request-id": trigger}, f"{trigger}\n{job.client.address}{where}")
        return 0
    operation = job.client.wait_for(where)
    _print(options, {"id": job.entry.id, **operation}, text.format(**operation))
    return 0


def _wait_for_the_end(options: argparse.Namespace, job: FoundJob) -> str:
    """Return the state that a job ends in; its driver may end with it, and then the registry tells."""
    while True:
        try:
            state = str(job.client.get(f"{job.path}/status")["status"])
        except UnreachableError:
            if options.address is not None:
                return "CANCELED"
            states = [entry.state for entry in known_jobs(options) if entry.id == job.entry.id]
            return states[0] if states else "CANCELED"
        if state in ("CANCELED", "FINISHED", "FAILED"):
            return state
        pause(_LOOK_SECONDS)


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.json:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def _print(options: argparse.Namespace, values: dict[str, Any], text: str) -> None:
    sys.stdout.write(f"{json.dumps(values)}\n" if options.json else f"{text}\n")
