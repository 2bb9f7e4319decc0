"""Copies a job as it is copied on its way to a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloudpickle

if TYPE_CHECKING:
    from penstock.graph.job import Job

__all__ = ["copy_job"]


def copy_job(job: Job) -> Job:
    """Return the job with functions and settings of its own."""
    copied: Job = cloudpickle.loads(cloudpickle.dumps(job))
    return copied
