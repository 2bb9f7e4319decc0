"""Where a job is between submission and its end."""

from penstock.vocabulary.job import JobStatus

__all__ = ["JobStatus"]
