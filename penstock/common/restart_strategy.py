"""What happens when a job fails."""

from penstock.vocabulary.settings.restarts import RestartStrategies, RestartStrategyConfiguration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]
