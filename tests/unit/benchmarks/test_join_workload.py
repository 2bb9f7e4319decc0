"""The data of the jobs with two streams."""

from collections import Counter

import pytest

from benchmarks.join_workload import JOIN_KEYS, LEFT, RIGHT, RULES, JoinEvents, per_stream, rule
from benchmarks.workload import EPOCH_MS, OUT_OF_ORDER_MS, ranges

SIDES = (LEFT, RIGHT)


def test_an_event_is_what_the_formula_says() -> None:
    # Position 20 of the left side: 21 * 2654435761 - 12 * 2^32 = 4203543429; that is 1026255 * 4096 + a rest, hence key
    # 1255, and 29 more than a multiple of 200; position 20 is 2 ms into the epoch.
    assert JoinEvents(LEFT, records=200, parallelism=1)(20) == (1_255, EPOCH_MS + 2 - 29, 20)


def test_the_sources_of_a_side_interleave_in_time() -> None:
    event = JoinEvents(RIGHT, records=20, parallelism=2)
    one_source = JoinEvents(RIGHT, records=20, parallelism=1)
    assert [event(number) for number in (0, 5, 1, 6, 2)] == [one_source(position) for position in range(5)]


@pytest.mark.parametrize("side", SIDES)
def test_no_event_of_a_source_is_later_than_the_watermark_allows(side: int) -> None:
    event = JoinEvents(side, records=20_000, parallelism=2)
    for source in ranges(per_stream(20_000), 2):
        newest = 0
        for number in source:
            time = event(number)[1]
            newest = max(newest, time)
            assert time >= newest - OUT_OF_ORDER_MS


@pytest.mark.parametrize("side", SIDES)
def test_keys_are_about_equally_frequent(side: int) -> None:
    event = JoinEvents(side, records=200_000, parallelism=2)
    counts = Counter(event(number)[0] for number in range(per_stream(200_000)))
    assert len(counts) == JOIN_KEYS
    # Twenty of each on average.
    assert max(counts.values()) < 60


def test_there_is_a_rule_for_each_key() -> None:
    assert [rule(number)[0] for number in range(RULES)] == list(range(RULES))
    assert {factor for _, factor in map(rule, range(RULES))} == set(range(1, 102))
