"""The identity of a job."""

from penstock.vocabulary.job import JobID

__all__ = ["JobID"]
