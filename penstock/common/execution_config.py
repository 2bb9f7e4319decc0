"""Settings of one job that hold for all of its steps."""

from penstock.vocabulary.execution_config import ExecutionConfig

__all__ = ["ExecutionConfig"]
