"""Core settings of a local session that others started: set while jobs run in it, put back after the last of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from penstock.execution.spark.internals import SPARK_ERRORS, change_local_settings, is_stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LentSettings"]


class LentSettings:
    """What one Spark context had before, and the jobs that need something else. Not safe for several threads."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None
        self._before: dict[str, str | None] = {}
        self._python: str | None = None
        self._jobs: set[str] = set()

    def lend(self, session: SparkSession, job_id: str, settings: dict[str, str], python: str | None) -> None:
        """Set what a job needs, until it is given back; ``python`` is the workers' interpreter, if it matters."""
        context: Any = session.sparkContext
        if self._session is not None and self._session.sparkContext is not context:
            self._forget()  # that one was stopped with all its jobs: there is one context at a time
        if self._session is None:
            self._session = session
            self._python = context.pythonExec
        self._jobs.add(job_id)
        for key, value in change_local_settings(session, dict(settings)).items():
            self._before.setdefault(key, value)
        if python is not None:
            context.pythonExec = python

    def give_back(self, job_id: str) -> None:
        """Put everything back once no job needs it any more."""
        self._jobs.discard(job_id)
        if self._session is None or self._jobs:
            return
        with contextlib.suppress(*SPARK_ERRORS, OSError):  # a JVM that is gone has no settings
            if not is_stopped(self._session):
                context: Any = self._session.sparkContext
                context.pythonExec = self._python
                change_local_settings(self._session, self._before)
        self._forget()

    def _forget(self) -> None:
        self._session = None
        self._before = {}
        self._jobs = set()
