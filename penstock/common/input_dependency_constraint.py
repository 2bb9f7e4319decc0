"""When a task may be scheduled with regard to its inputs."""

from penstock.vocabulary.settings.input_dependency_constraint import InputDependencyConstraint

__all__ = ["InputDependencyConstraint"]
