"""Settings of one job that hold for all of its steps."""

from penstock.vocabulary.settings.execution import ExecutionConfig

__all__ = ["ExecutionConfig"]
