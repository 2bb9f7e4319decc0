"""The execution environment, at the place PyFlink gives it."""

from penstock.api.environment import StreamExecutionEnvironment

__all__ = ["StreamExecutionEnvironment"]
