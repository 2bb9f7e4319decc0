"""Core settings of a local session that others started: set while jobs run in it, put back after the last of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from penstock.execution.spark.internals.context import (
    change_local_settings,
    change_worker_python,
    is_stopped,
    worker_python,
)
from penstock.execution.spark.internals.errors import SPARK_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LentSettings"]


class LentSettings:
    """What one Spark context had before, and the jobs that need something else. Not safe for several threads."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None
        self._before: dict[str, str | None] = {}
        self._python = ""
        self._jobs: set[str] = set()

    def lend(self, session: SparkSession, job_id: str, settings: dict[str, str], python: str | None) -> None:
        """Set what a job needs, until it is given back; ``python`` is the workers' interpreter, if it matters."""
        if self._session is not None and self._session.sparkContext is not session.sparkContext:
            self._forget()  # that one was stopped with all its jobs: there is one context at a time
        if self._session is None:
            self._session = session
            self._python = worker_python(session)
        self._jobs.add(job_id)
        for key, value in change_local_settings(session, dict(settings)).items():
            self._before.setdefault(key, value)
        if python is not None:
            change_worker_python(session, python)

    def give_back(self, job_id: str) -> None:
        """Put everything back once no job needs it any more."""
        self._jobs.discard(job_id)
        if self._session is None or self._jobs:
            return
        with contextlib.suppress(*SPARK_ERRORS, OSError):  # a JVM that is gone has no settings
            if not is_stopped(self._session):
                change_worker_python(self._session, self._python)
                change_local_settings(self._session, self._before)
        self._forget()

    def _forget(self) -> None:
        self._session = None
        self._before = {}
        self._jobs = set()
