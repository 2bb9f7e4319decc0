"""From an environment to the job that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.graph.job import Job

__all__ = ["build_job"]


def build_job(environment: StreamExecutionEnvironment, job_name: str | None = None) -> Job:
    """Check what was added to an environment since its last job, as ``execute`` does, and return the job.

    Nothing runs. A :class:`~penstock.testing.LocalRun` runs the job in this process, any number of times.
    """
    return environment._build_job(job_name)
