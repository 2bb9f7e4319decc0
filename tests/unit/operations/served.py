"""A job with its facts and a control that does nothing but write down what it is told."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from penstock import Configuration, StreamExecutionEnvironment
from penstock.foundation.clock import ManualClock
from penstock.operations.job_facts import JobFacts
from penstock.operations.rest.exchange import Question
from penstock.operations.rest.served_jobs import ServedJobs
from penstock.operations.settings import OperationsSettings
from penstock.testing import build_job


class NotedControl:
    """A job that obeys as soon as ``outcome`` is set."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.outcome: Future[Any] = Future()

    def _note(self, *call: Any) -> Future[Any]:
        self.calls.append(call)
        return self.outcome

    def cancel(self) -> None:
        self.calls.append(("cancel",))

    def checkpoint(self, *, is_full: bool) -> Future[int]:
        return self._note("checkpoint", is_full)

    def savepoint(self, directory: str | None) -> Future[str]:
        return self._note("savepoint", directory)

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        return self._note("cancel with savepoint", directory)

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> Future[str]:
        return self._note("stop", directory, drain)

    def why_no_output(self) -> str:
        return "Nothing holds event time back."


class Served:
    """One job with two vertices of parallelism 1 and 2: a source, and a map behind a hash."""

    def __init__(self, **options: str) -> None:
        settings = {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
        env = StreamExecutionEnvironment(Configuration.from_dict(settings)).set_parallelism(2)
        env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).name("Double")
        self.job = build_job(env)
        self.clock = ManualClock(1000)
        self.facts = JobFacts(self.job, self.clock)
        self.control = NotedControl()
        self.jobs = ServedJobs(OperationsSettings.of(settings))
        self.jobs.add(self.facts, self.control)

    @property
    def vertices(self) -> list[int]:
        return list(self.job.plan.vertices)

    def ask(self, answer: Any, *, query: dict[str, str] | None = None, body: Any = None, **path: str) -> Any:
        return answer(self.jobs, Question({"job": self.job.id, **path}, query or {}, body or {}))
