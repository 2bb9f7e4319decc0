"""The jobs of a driver, as its REST interface sees them: what is known of them, and how to steer them."""

from __future__ import annotations

import hashlib
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.operations.rest.exchange import RestError
from penstock.operations.rest.triggers import Triggers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from penstock.graph.plan import Vertex
    from penstock.operations.job_facts import JobFacts
    from penstock.operations.rest.exchange import Question
    from penstock.operations.settings import OperationsSettings

__all__ = ["JobControl", "ServedJob", "ServedJobs", "vertex_id"]


class JobControl(Protocol):
    """How a job is steered."""

    def cancel(self) -> None:
        """Cancel the job and wait until nothing of it runs any more."""

    def checkpoint(self, *, is_full: bool) -> Future[int]:
        """Take a checkpoint now; the future gives its number."""

    def savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint; the future gives its path."""

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint and cancel the job; the future gives the path when nothing of the job runs any more."""

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> Future[str]:
        """Take a savepoint behind which no record follows, and let the job end."""

    def why_no_output(self) -> str:
        """Explain what holds event time back."""


@dataclass(frozen=True)
class ServedJob:
    """One job."""

    facts: JobFacts
    control: JobControl

    def vertex(self, question: Question) -> Vertex:
        """Return the vertex that a path names; raises what is answered if there is none."""
        wanted = question.path["vertex"]
        for vertex in self.facts.job.plan.vertices.values():
            if vertex_id(vertex) == wanted:
                return vertex
        raise RestError(404, f"The job has no vertex {wanted!r}; /jobs/{self.facts.id} lists them.")


class ServedJobs:
    """All jobs of one driver, and the operations on them that are under way."""

    def __init__(self, settings: OperationsSettings) -> None:
        self.settings = settings
        self.triggers = Triggers()
        self._jobs: dict[str, ServedJob] = {}
        self._ended: weakref.WeakValueDictionary[str, JobFacts] = weakref.WeakValueDictionary()
        self._ended_controls: weakref.WeakValueDictionary[str, JobControl] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def add(self, facts: JobFacts, control: JobControl) -> None:
        """Serve a job."""
        with self._lock:
            self._jobs[facts.id] = ServedJob(facts, control)

    def ended(self, job_id: str) -> None:
        """Serve a job that has ended only as long as the program keeps it: functions, and what they hold, can go."""
        with self._lock:
            job = self._jobs.pop(job_id, None)
            if job is not None:
                self._ended[job_id] = job.facts
                self._ended_controls[job_id] = job.control

    def all(self) -> list[ServedJob]:
        """Return all jobs, in the order of their start."""
        with self._lock:
            ended = [self._find_ended(job_id) for job_id in list(self._ended)]
            return sorted(
                [*self._jobs.values(), *(job for job in ended if job is not None)], key=lambda job: job.facts.started
            )

    def find(self, question: Question) -> ServedJob:
        """Return the job that a path names; raises what is answered if there is none."""
        wanted = question.path["job"]
        with self._lock:
            job = self._jobs.get(wanted) or self._find_ended(wanted)
        if job is None:
            raise RestError(404, f"This driver has no job {question.path['job']!r}; /jobs lists them.")
        return job

    def _find_ended(self, job_id: str) -> ServedJob | None:
        facts, control = self._ended.get(job_id), self._ended_controls.get(job_id)
        return None if facts is None or control is None else ServedJob(facts, control)


def vertex_id(vertex: Vertex) -> str:
    """Return the id of a vertex, 32 hexadecimal digits: it stands for the id of its first operator."""
    head = vertex.head
    return head.uid_hash or hashlib.sha256(head.operator_id.encode()).hexdigest()[:32]
