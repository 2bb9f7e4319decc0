"""When a task may be scheduled with regard to its inputs."""

from penstock.vocabulary.settings.modes import InputDependencyConstraint

__all__ = ["InputDependencyConstraint"]
