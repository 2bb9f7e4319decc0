"""Whether, how often and after which pause a failed job is started again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.vocabulary.time.durations import TimeLength, format_duration, to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["UNLIMITED_ATTEMPTS", "RestartStrategies", "RestartStrategyConfiguration"]

UNLIMITED_ATTEMPTS = 2**31 - 1
"""As many restarts as it takes."""
_TYPE_KEYS = ("restart-strategy.type", "restart-strategy")


class RestartStrategyConfiguration(ABC):
    """What a program says about restarting its job; it is plain data and equal to another with the same data."""

    @abstractmethod
    def get_description(self) -> str:
        """Return one sentence for the job page."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(vars(self).items()))))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class RestartStrategies:
    """Makes the configurations of the restart strategies; every length of time may be an int of milliseconds.

    Example:
        >>> RestartStrategies.fixed_delay_restart(3, 10_000).get_description()
        'Restart with fixed delay (10 s). #3 restart attempts.'
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job fails for good at its first failure."""

        def get_description(self) -> str:
            """Return one sentence for the job page."""
            return "Restart deactivated."

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job leaves the choice to the configuration, and to checkpointing if that says nothing."""

        def get_description(self) -> str:
            """Return one sentence for the job page."""
            return "Cluster level default restart strategy"

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job restarts a given number of times, always after the same pause."""

        def __init__(self, restart_attempts: int, delay_between_attempts_interval: TimeLength) -> None:
            """Create the configuration of `restart_attempts` restarts with a pause before each."""
            self.restart_attempts = restart_attempts
            self.delay_ms = to_millis(delay_between_attempts_interval)
            _require(restart_attempts >= 0, "restart_attempts", restart_attempts, "0 or more")
            _require(self.delay_ms >= 0, "delay_between_attempts", self.delay_ms, "0 ms or more")

        def get_restart_attempts(self) -> int:
            """Return how often the job is restarted."""
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the pause before a restart."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """Return one sentence for the job page."""
            delay = format_duration(self.delay_ms)
            return f"Restart with fixed delay ({delay}). #{self.restart_attempts} restart attempts."

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job restarts until more than a given number of failures fall into one interval."""

        def __init__(
            self, max_failure_rate: int, failure_interval: TimeLength, delay_between_attempts_interval: TimeLength
        ) -> None:
            """Create the configuration that allows `max_failure_rate` failures in any `failure_interval`."""
            self.max_failure_rate = max_failure_rate
            self.failure_interval_ms = to_millis(failure_interval)
            self.delay_ms = to_millis(delay_between_attempts_interval)
            _require(max_failure_rate > 0, "failure_rate", max_failure_rate, "1 or more")
            _require(self.failure_interval_ms > 0, "failure_interval", self.failure_interval_ms, "more than 0 ms")
            _require(self.delay_ms >= 0, "delay_interval", self.delay_ms, "0 ms or more")

        def get_max_failure_rate(self) -> int:
            """Return how many failures one interval may hold."""
            return self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            """Return the interval in which failures are counted."""
            return timedelta(milliseconds=self.failure_interval_ms)

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the pause before a restart."""
            return timedelta(milliseconds=self.delay_ms)

        def get_description(self) -> str:
            """Return one sentence for the job page."""
            interval, delay = format_duration(self.failure_interval_ms), format_duration(self.delay_ms)
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within interval {interval} "
                f"and fixed delay {delay}."
            )

    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job restarts after a pause that grows with every failure up to a limit."""

        def __init__(
            self,
            initial_backoff: TimeLength,
            max_backoff: TimeLength,
            backoff_multiplier: float,
            reset_backoff_threshold: TimeLength,
            jitter_factor: float,
            attempts_before_reset_backoff: int = UNLIMITED_ATTEMPTS,
        ) -> None:
            """Create the configuration; a run without failure of `reset_backoff_threshold` resets the pause.

            After `attempts_before_reset_backoff` restarts without such a run, the next failure ends the job.
            """
            self.initial_backoff_ms = to_millis(initial_backoff)
            self.max_backoff_ms = to_millis(max_backoff)
            self.backoff_multiplier = float(backoff_multiplier)
            self.reset_backoff_threshold_ms = to_millis(reset_backoff_threshold)
            self.jitter_factor = float(jitter_factor)
            self.attempts_before_reset_backoff = attempts_before_reset_backoff
            _require(self.initial_backoff_ms >= 1, "initial_backoff", self.initial_backoff_ms, "1 ms or more")
            _require(
                self.max_backoff_ms >= self.initial_backoff_ms,
                "max_backoff",
                self.max_backoff_ms,
                f"initial_backoff ({self.initial_backoff_ms}) or more",
            )
            _require(self.backoff_multiplier >= 1, "backoff_multiplier", self.backoff_multiplier, "1.0 or more")
            threshold = self.reset_backoff_threshold_ms
            _require(threshold >= 1, "reset_backoff_threshold", threshold, "1 ms or more")
            _require(0 <= self.jitter_factor <= 1, "jitter_factor", self.jitter_factor, "from 0.0 to 1.0")
            attempts = attempts_before_reset_backoff
            _require(attempts >= 1, "attempts_before_reset_backoff", attempts, "1 or more")

        def get_initial_backoff(self) -> timedelta:
            """Return the pause before the first restart."""
            return timedelta(milliseconds=self.initial_backoff_ms)

        def get_max_backoff(self) -> timedelta:
            """Return the longest pause."""
            return timedelta(milliseconds=self.max_backoff_ms)

        def get_backoff_multiplier(self) -> float:
            """Return the factor by which a failure lengthens the pause."""
            return self.backoff_multiplier

        def get_reset_backoff_threshold(self) -> timedelta:
            """Return how long the job must run without failure for the pause to be reset."""
            return timedelta(milliseconds=self.reset_backoff_threshold_ms)

        def get_jitter_factor(self) -> float:
            """Return the part of the pause by which it is randomly lengthened or shortened."""
            return self.jitter_factor

        def get_attempts_before_reset_backoff(self) -> int:
            """Return how many restarts in a row are allowed before the pause is reset."""
            return self.attempts_before_reset_backoff

        def get_description(self) -> str:
            """Return one sentence for the job page."""
            initial, longest = format_duration(self.initial_backoff_ms), format_duration(self.max_backoff_ms)
            attempts = self.attempts_before_reset_backoff
            return (
                f"Restart with exponential delay: starting at {initial}, increasing by {self.backoff_multiplier}, "
                f"with maximum {longest}. Delay resets after {format_duration(self.reset_backoff_threshold_ms)} "
                f"with jitter {self.jitter_factor}."
                + ("" if attempts == UNLIMITED_ATTEMPTS else f" #{attempts} restart attempts before the reset.")
            )

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """Never restarts the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Leave the choice to the configuration."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: TimeLength
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart the job `restart_attempts` times, each time after `delay_between_attempts`."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: TimeLength, delay_interval: TimeLength
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart the job after `delay_interval` unless `failure_interval` holds more than `failure_rate` failures."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: TimeLength = 1_000,
        max_backoff: TimeLength = 60_000,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold: TimeLength = 3_600_000,
        jitter_factor: float = 0.1,
        attempts_before_reset_backoff: int = UNLIMITED_ATTEMPTS,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Restart the job after `initial_backoff`, which each failure multiplies up to `max_backoff`."""
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff,
            max_backoff,
            backoff_multiplier,
            reset_backoff_threshold,
            jitter_factor,
            attempts_before_reset_backoff,
        )

    @staticmethod
    def from_configuration(configuration: Configuration) -> RestartStrategyConfiguration | None:
        """Return the strategy that `restart-strategy.type` and its keys ask for, or None if nothing is set."""
        key = configuration.first_key(*_TYPE_KEYS)
        if key is None:
            return None
        name = (configuration.get_string(key, "") or "").strip().lower().replace("-", "")
        if name in {"none", "off", "disable", "disabled"}:
            return RestartStrategies.no_restart()
        if name == "fixeddelay":
            prefix = "restart-strategy.fixed-delay."
            return RestartStrategies.fixed_delay_restart(
                configuration.get_integer(prefix + "attempts", 1), configuration.get_millis(prefix + "delay", 1_000)
            )
        if name == "failurerate":
            prefix = "restart-strategy.failure-rate."
            return RestartStrategies.failure_rate_restart(
                configuration.get_integer(prefix + "max-failures-per-interval", 1),
                configuration.get_millis(prefix + "failure-rate-interval", 60_000),
                configuration.get_millis(prefix + "delay", 1_000),
            )
        if name == "exponentialdelay":
            prefix = "restart-strategy.exponential-delay."
            return RestartStrategies.exponential_delay_restart(
                configuration.get_millis(prefix + "initial-backoff", 1_000),
                configuration.get_millis(prefix + "max-backoff", 60_000),
                configuration.get_float(prefix + "backoff-multiplier", 1.5),
                configuration.get_millis(prefix + "reset-backoff-threshold", 3_600_000),
                configuration.get_float(prefix + "jitter-factor", 0.1),
                configuration.get_integer(prefix + "attempts-before-reset-backoff", UNLIMITED_ATTEMPTS),
            )
        value = configuration.get_string(key, "")
        msg = f"{key} is {value!r}; write none, fixed-delay, failure-rate or exponential-delay."
        raise ValueError(msg)


def _require(holds: bool, name: str, value: object, rule: str) -> None:  # noqa: FBT001 - reads as an assertion
    if not holds:
        msg = f"{name} is {value}; it must be {rule}."
        raise ValueError(msg)
