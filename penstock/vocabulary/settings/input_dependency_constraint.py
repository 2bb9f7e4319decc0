"""When a task may be scheduled with regard to its inputs."""

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Which of a task's inputs must have data before the task is scheduled.

    Flink has dropped the option that takes this value; the name is kept for programs that mention it.
    """

    ANY = 0
    """One input with data is enough."""
    ALL = 1
    """Every input must have data."""
