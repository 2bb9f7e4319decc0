"""When a failed job starts again (RST-01 to RST-05)."""

import pytest

from penstock.checkpoint.restart import (
    ExponentialDelayPolicy,
    NoRestartPolicy,
    restart_policy,
)
from penstock.errors import ProgramError
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.restarts import RestartStrategies, RestartStrategyConfiguration

SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000


def steady():
    """A chance that neither lengthens nor shortens."""
    return 0.5


def policy(configuration, *, is_checkpointing=True, chance=steady):
    return restart_policy(configuration, is_checkpointing=is_checkpointing, chance=chance)


def test_w_92_fixed_delay_runs_once_and_three_times_more():
    strategy = policy(RestartStrategies.fixed_delay_restart(3, 10 * SECOND))
    assert [strategy.on_failure(now) for now in (0, 20_000, 40_000, 60_000)] == [10_000, 10_000, 10_000, None]


def test_fixed_delay_does_not_forget_with_time():
    strategy = policy(RestartStrategies.fixed_delay_restart(1, 5))
    assert [strategy.on_failure(0), strategy.on_failure(10 * HOUR)] == [5, None]


def test_w_93_failure_rate_fails_at_more_than_three_failures_in_the_interval():
    strategy = policy(RestartStrategies.failure_rate_restart(3, 5 * MINUTE, 10 * SECOND))
    assert [strategy.on_failure(minute * MINUTE) for minute in (0, 1, 2, 3)] == [10_000, 10_000, 10_000, None]


def test_failure_rate_counts_a_sliding_interval_with_its_border():
    strategy = policy(RestartStrategies.failure_rate_restart(1, 100, 7))
    # 0 and 101 are more than 100 apart, 101 and 201 are not.
    assert [strategy.on_failure(now) for now in (0, 101, 201)] == [7, 7, None]


@pytest.mark.parametrize("is_checkpointing", [False, True])
def test_w_94_no_restart_fails_at_the_first_failure(is_checkpointing):
    assert policy(RestartStrategies.no_restart(), is_checkpointing=is_checkpointing).on_failure(0) is None


@pytest.mark.parametrize("configuration", [None, RestartStrategies.fall_back_restart()])
def test_w_94_without_checkpoints_and_a_strategy_the_first_failure_fails_the_job(configuration):
    assert isinstance(policy(configuration, is_checkpointing=False), NoRestartPolicy)


@pytest.mark.parametrize("configuration", [None, RestartStrategies.fall_back_restart()])
def test_with_checkpoints_the_delay_grows_exponentially_unless_a_strategy_is_set(configuration):
    strategy = policy(configuration)
    assert isinstance(strategy, ExponentialDelayPolicy)
    delays = []
    now = 0
    for _ in range(14):
        delays.append(strategy.on_failure(now))
        now += delays[-1] + SECOND
    assert delays[:6] == [1000, 1500, 2250, 3375, 5062, 7594]
    assert delays[-2:] == [60_000, 60_000]


def test_exponential_delay_starts_again_after_a_healthy_run():
    strategy = policy(RestartStrategies.exponential_delay_restart(100, 1000, 2.0, 5000, 0.0))
    assert strategy.on_failure(0) == 100
    assert strategy.on_failure(5099) == 200, "it ran from 100 on, one millisecond less than the threshold"
    assert strategy.on_failure(5299 + 5000) == 100


def test_exponential_delay_with_a_number_of_attempts_ends_with_the_failure_after_them():
    strategy = policy(RestartStrategies.exponential_delay_restart(100, 1000, 2.0, 5000, 0.0, 2))
    assert [strategy.on_failure(0), strategy.on_failure(200), strategy.on_failure(500)] == [100, 200, None]


def test_a_healthy_run_gives_the_attempts_back():
    entries = {
        "restart-strategy.type": "exponential-delay",
        "restart-strategy.exponential-delay.initial-backoff": "100 ms",
        "restart-strategy.exponential-delay.reset-backoff-threshold": "5 s",
        "restart-strategy.exponential-delay.jitter-factor": 0.0,
        "restart-strategy.exponential-delay.attempts-before-reset-backoff": 1,
    }
    strategy = policy(RestartStrategies.from_configuration(Configuration.from_dict(entries)))
    assert strategy.on_failure(0) == 100
    assert strategy.on_failure(5100) == 100, "it ran for five seconds"
    assert strategy.on_failure(5300) is None


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 180), (0.5, 200), (1.0, 220)])
def test_jitter_moves_the_delay_both_ways(chance, delay):
    strategy = policy(RestartStrategies.exponential_delay_restart(100, 1000, 2.0, 5000, 0.1), chance=lambda: chance)
    strategy.on_failure(0)
    assert strategy.on_failure(1000) == delay


def test_jitter_stays_between_the_shortest_and_the_longest_delay():
    strategy = policy(RestartStrategies.exponential_delay_restart(100, 200, 2.0, 5000, 0.5), chance=lambda: 0.0)
    assert strategy.on_failure(0) == 100
    strategy = policy(RestartStrategies.exponential_delay_restart(100, 200, 2.0, 5000, 0.5), chance=lambda: 1.0)
    assert [strategy.on_failure(0), strategy.on_failure(1000)] == [150, 200]


def test_a_strange_configuration_is_refused():
    class Odd(RestartStrategyConfiguration):
        def get_description(self):
            return "odd"

    with pytest.raises(ProgramError, match="RestartStrategies"):
        policy(Odd())
