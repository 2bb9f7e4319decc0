"""What changes a job: cancelling it, checkpoints, savepoints, stopping it. All of it needs the token."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.storage import remove_snapshot
from penstock.foundation.files.by_uri import files_of
from penstock.operations.rest.exchange import Answer, RestError
from penstock.operations.savepoint_directories import SavepointDirectories

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJob, ServedJobs

__all__ = [
    "ask_checkpoint", "ask_disposal", "ask_savepoint", "cancel", "dispose_savepoint", "stop", "take_checkpoint",
    "take_savepoint",
]  # fmt: skip

_SAVEPOINT = "savepoint"
_CHECKPOINT = "checkpoint"
_DISPOSAL = "disposal"


def cancel(jobs: ServedJobs, question: Question) -> Any:
    """Begin to cancel a job."""
    job = jobs.find(question)
    mode = question.query.get("mode", "cancel")
    if mode != "cancel":
        raise RestError(400, f"A job is cancelled with mode=cancel; there is no mode {mode!r}.")
    _in_background(job.control.cancel)
    return Answer({}, 202)


def take_checkpoint(jobs: ServedJobs, question: Question) -> Any:
    """Begin a checkpoint."""
    job = _running(jobs, question)
    kind = (question.text("checkpointType") or "CONFIGURED").upper()
    if kind not in ("CONFIGURED", "FULL"):
        raise RestError(400, f"checkpointType is CONFIGURED or FULL, not {kind!r}.")
    return _begin(jobs, question, job, _CHECKPOINT, lambda: job.control.checkpoint(is_full=kind == "FULL"))


def ask_checkpoint(jobs: ServedJobs, question: Question) -> Any:
    """Return how far a checkpoint is that was asked for."""
    job = jobs.find(question)
    return jobs.triggers.ask(_CHECKPOINT, job.facts.id, question.path["trigger"], "checkpointId")


def take_savepoint(jobs: ServedJobs, question: Question) -> Any:
    """Begin a savepoint, after which the job goes on or is cancelled."""
    job = _running(jobs, question)
    _check_format(question)
    directory = _directory(jobs, job, question.text("target-directory", "targetDirectory"))
    control = job.control
    is_cancelling = question.flag("cancel-job")
    take = control.cancel_with_savepoint if is_cancelling else control.savepoint
    return _begin(jobs, question, job, _SAVEPOINT, lambda: take(directory), ends_job=is_cancelling)


def ask_savepoint(jobs: ServedJobs, question: Question) -> Any:
    """Return how far a savepoint is, or a stop with one."""
    job = jobs.find(question)
    return jobs.triggers.ask(_SAVEPOINT, job.facts.id, question.path["trigger"], "location")


def stop(jobs: ServedJobs, question: Question) -> Any:
    """Begin to stop a job with a savepoint."""
    job = _running(jobs, question)
    _check_format(question)
    directory = _directory(jobs, job, question.text("targetDirectory", "target-directory"))
    is_draining = question.flag("drain")

    def take() -> Future[str]:
        return job.control.stop_with_savepoint(directory, drain=is_draining)

    return _begin(jobs, question, job, _SAVEPOINT, take, ends_job=True)


def dispose_savepoint(jobs: ServedJobs, question: Question) -> Any:
    """Begin to remove a savepoint."""
    path = question.text("savepoint-path")
    if path is None:
        raise RestError(400, "'savepoint-path' is missing.")
    allowed = SavepointDirectories.of_all([job.facts.job for job in jobs.all()], jobs.settings)
    if not allowed.holds(path):
        raise RestError(403, allowed.refusal(path))
    trigger = jobs.triggers.begin(
        _DISPOSAL, "", question.text("triggerId"), lambda: _in_background(lambda: _remove(path))
    )
    return Answer({"request-id": trigger}, 202)


def ask_disposal(jobs: ServedJobs, question: Question) -> Any:
    """Return how far the removal of a savepoint is."""
    return jobs.triggers.ask(_DISPOSAL, "", question.path["trigger"], "done")


def _remove(path: str) -> bool:
    remove_snapshot(path, files_of)
    return True


def _begin(
    jobs: ServedJobs,
    question: Question,
    job: ServedJob,
    kind: str,
    operation: Callable[[], Future[Any]],
    *,
    ends_job: bool = False,
) -> Answer:
    trigger = jobs.triggers.begin(kind, job.facts.id, question.text("triggerId"), operation, ends_job=ends_job)
    return Answer({"request-id": trigger}, 202)


def _running(jobs: ServedJobs, question: Question) -> ServedJob:
    job = jobs.find(question)
    if job.facts.status.is_globally_terminal_state():
        raise RestError(409, f"The job {job.facts.name!r} has ended: {job.facts.status.name}.")
    return job


def _check_format(question: Question) -> None:
    form = (question.text("formatType") or "CANONICAL").upper()
    if form != "CANONICAL":
        raise RestError(400, f"Savepoints have one form here, CANONICAL; there is no form {form!r}.")


def _directory(jobs: ServedJobs, job: ServedJob, asked: str | None) -> str | None:
    allowed = SavepointDirectories.of_all([job.facts.job], jobs.settings)
    if asked is not None and not allowed.holds(asked):
        raise RestError(403, allowed.refusal(asked))
    return asked


def _in_background(work: Callable[[], Any]) -> Future[Any]:
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="penstock operation", daemon=True).start()
    return future
