"""What happens when a job fails (RST-03 to RST-05, CFG-06 to CFG-08)."""

import pickle
from datetime import timedelta

import pytest

from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.restarts import RestartStrategies
from penstock.vocabulary.time.durations import Duration, Time


@pytest.mark.parametrize("delay", [10_000, timedelta(seconds=10), Time.seconds(10), Duration.of_seconds(10)])
def test_fixed_delay(delay):
    strategy = RestartStrategies.fixed_delay_restart(3, delay)
    assert isinstance(strategy, RestartStrategies.FixedDelayRestartStrategyConfiguration)
    assert strategy.get_restart_attempts() == 3
    assert strategy.get_delay_between_attempts_interval() == timedelta(seconds=10)
    assert strategy.delay_ms == 10_000


def test_failure_rate():
    strategy = RestartStrategies.failure_rate_restart(3, Time.seconds(100), Time.seconds(10))
    assert strategy.get_max_failure_rate() == 3
    assert strategy.get_failure_interval() == timedelta(seconds=100)
    assert strategy.get_delay_between_attempts_interval() == timedelta(seconds=10)


def test_exponential_delay_has_flinks_values():
    strategy = RestartStrategies.exponential_delay_restart()
    assert strategy.get_initial_backoff() == timedelta(seconds=1)
    assert strategy.get_max_backoff() == timedelta(minutes=1)
    assert strategy.get_backoff_multiplier() == 1.5
    assert strategy.get_reset_backoff_threshold() == timedelta(hours=1)
    assert strategy.get_jitter_factor() == 0.1


def test_strategies_are_equal_by_their_data_and_survive_pickling():
    assert RestartStrategies.no_restart() == RestartStrategies.no_restart()
    assert RestartStrategies.no_restart() != RestartStrategies.fall_back_restart()
    assert RestartStrategies.fixed_delay_restart(3, 1) != RestartStrategies.fixed_delay_restart(3, 2)
    strategy = RestartStrategies.fixed_delay_restart(3, 1)
    twin = pickle.loads(pickle.dumps(strategy))
    assert twin == strategy
    assert hash(twin) == hash(strategy)


def test_descriptions_name_the_numbers():
    assert RestartStrategies.no_restart().get_description() == "Restart deactivated."
    fixed = RestartStrategies.fixed_delay_restart(3, 10_000).get_description()
    rate = RestartStrategies.failure_rate_restart(2, 300_000, 10_000).get_description()
    growing = RestartStrategies.exponential_delay_restart().get_description()
    assert "10 s" in fixed
    assert "#3" in fixed
    assert "maximum of 2 failures within interval 5 min" in rate
    assert "starting at 1 s, increasing by 1.5, with maximum 1 min" in growing


@pytest.mark.parametrize(
    ("entries", "strategy"),
    [
        ({}, None),
        ({"restart-strategy.type": "none"}, RestartStrategies.no_restart()),
        ({"restart-strategy": "off"}, RestartStrategies.no_restart()),
        ({"restart-strategy.type": "fixed-delay"}, RestartStrategies.fixed_delay_restart(1, 1_000)),
        (
            {
                "restart-strategy": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "10 s",
            },
            RestartStrategies.fixed_delay_restart(3, 10_000),
        ),
        (
            {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": 3,
                "restart-strategy.failure-rate.failure-rate-interval": "5 min",
                "restart-strategy.failure-rate.delay": "10 s",
            },
            RestartStrategies.failure_rate_restart(3, 300_000, 10_000),
        ),
        (
            {
                "restart-strategy.type": "exponential-delay",
                "restart-strategy.exponential-delay.initial-backoff": "2 s",
                "restart-strategy.exponential-delay.backoff-multiplier": "2.0",
            },
            RestartStrategies.exponential_delay_restart(2_000, 60_000, 2.0),
        ),
    ],
)
def test_the_configuration_chooses_the_strategy(entries, strategy):
    assert RestartStrategies.from_configuration(Configuration.from_dict(entries)) == strategy


def test_an_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'sometimes'; write none, fixed-delay, failure-rate or exponential-delay"):
        RestartStrategies.from_configuration(Configuration.from_dict({"restart-strategy.type": "sometimes"}))


@pytest.mark.parametrize(
    "make",
    [
        lambda: RestartStrategies.fixed_delay_restart(-1, 0),
        lambda: RestartStrategies.fixed_delay_restart(1, -1),
        lambda: RestartStrategies.failure_rate_restart(0, 1, 1),
        lambda: RestartStrategies.failure_rate_restart(1, 0, 1),
        lambda: RestartStrategies.failure_rate_restart(1, 1, -1),
        lambda: RestartStrategies.exponential_delay_restart(initial_backoff=0),
        lambda: RestartStrategies.exponential_delay_restart(initial_backoff=10, max_backoff=9),
        lambda: RestartStrategies.exponential_delay_restart(backoff_multiplier=0.5),
        lambda: RestartStrategies.exponential_delay_restart(reset_backoff_threshold=0),
        lambda: RestartStrategies.exponential_delay_restart(jitter_factor=1.5),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match="it must be"):
        make()
