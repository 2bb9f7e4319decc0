"""What happens when a job fails."""

from penstock.vocabulary.restart_strategy import RestartStrategies, RestartStrategyConfiguration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]
