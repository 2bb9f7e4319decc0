"""What a job that ended leaves behind."""

from penstock.vocabulary.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
