"""Lengths of time and points in time."""

import pickle
from datetime import timedelta

import pytest

from penstock.vocabulary.time.durations import (
    Duration,
    Instant,
    Time,
    TimeUnit,
    format_duration,
    parse_duration,
    to_millis,
)


@pytest.mark.parametrize(
    ("length", "millis"),
    [
        (Time(7), 7),
        (Time.milliseconds(7), 7),
        (Time.seconds(2), 2_000),
        (Time.minutes(2), 120_000),
        (Time.hours(1), 3_600_000),
        (Time.days(1), 86_400_000),
        (Time.of(10, TimeUnit.SECONDS), 10_000),
        (Duration.of_nanos(1_999_999), 1),
        (Duration.of_millis(7), 7),
        (Duration.of_seconds(2), 2_000),
        (Duration.of_minutes(2), 120_000),
        (Duration.of_hours(1), 3_600_000),
        (Duration.of_days(1), 86_400_000),
        (timedelta(seconds=1, microseconds=2_500), 1_002),
        (250, 250),
        (-1, -1),
    ],
)
def test_every_way_to_give_a_length_of_time_becomes_milliseconds(length, millis):
    assert to_millis(length) == millis


@pytest.mark.parametrize("value", [True, 1.5, "10 s", None])
def test_what_is_no_length_of_time_is_refused(value):
    with pytest.raises(TypeError, match="length of time"):
        to_millis(value)


def test_lengths_compare_and_hash_by_their_value():
    assert Time.seconds(60) == Time.minutes(1)
    assert Duration.of_seconds(60) == Duration.of_minutes(1)
    assert hash(Duration.of_seconds(60)) == hash(Duration.of_minutes(1))
    assert Time.seconds(1) < Time.seconds(2)
    assert Duration.of_seconds(2) >= Duration.of_millis(2_000)
    assert Time.seconds(1) != Duration.of_seconds(1)


@pytest.mark.parametrize("value", [Time.seconds(3), Duration.of_nanos(5), Instant(1, 2)])
def test_times_survive_pickling(value):
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("10 s", 10_000),
        ("10s", 10_000),
        ("5 min", 300_000),
        ("5 m", 300_000),
        ("200 ms", 200),
        ("1 h", 3_600_000),
        ("2 days", 172_800_000),
        ("1500 us", 1),
        ("2000000 ns", 2),
        ("42", 42),
        (" 3 SECONDS ", 3_000),
        ("PT10S", 10_000),
        ("PT1M30.5S", 90_500),
        ("P1DT2H", 93_600_000),
        ("-PT1S", -1_000),
    ],
)
def test_configuration_texts_are_read_as_milliseconds(text, millis):
    assert parse_duration(text) == millis


@pytest.mark.parametrize("text", ["", "s", "10 parsecs", "1.5 s", "P", "PT", "-5 s"])
def test_a_text_that_is_no_length_of_time_is_refused(text):
    with pytest.raises(ValueError, match="not a length of time"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("millis", "text"),
    [(0, "0 ms"), (1, "1 ms"), (10_000, "10 s"), (300_000, "5 min"), (3_600_000, "1 h"), (86_400_000, "1 d")],
)
def test_a_length_is_written_in_the_largest_unit_and_read_back(millis, text):
    assert format_duration(millis) == text
    assert parse_duration(text) == millis


@pytest.mark.parametrize("epoch_milli", [0, 1, 1_000, 1_547_718_199_123, -1, -1_001])
def test_an_instant_keeps_its_milliseconds(epoch_milli):
    assert Instant.of_epoch_milli(epoch_milli).to_epoch_milli() == epoch_milli


def test_an_instant_counts_nanoseconds_within_its_second():
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    assert Instant(1, 2) < Instant(1, 3) < Instant(2, 0)
    with pytest.raises(ValueError, match="nanos"):
        Instant(0, 1_000_000_000)


@pytest.mark.parametrize("unit", ["days", "hours", "minutes", "seconds", "millis", "nanos"])
@pytest.mark.parametrize("wrong", ["3", 1.5, None, True])
def test_a_length_of_something_else_is_refused_in_a_few_words(unit, wrong):
    with pytest.raises(TypeError, match=f"{unit} must be a whole number, not {wrong!r};") as refused:
        getattr(Duration, f"of_{unit}")(wrong)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("unit", ["days", "hours", "minutes", "seconds", "milliseconds"])
def test_a_time_of_something_else_is_refused_in_a_few_words(unit):
    with pytest.raises(TypeError, match=f"{unit} must be a whole number, not '3';") as refused:
        getattr(Time, unit)("3")
    assert len(str(refused.value)) < 200
    with pytest.raises(TypeError, match="size must be a whole number"):
        Time.of("3", TimeUnit.DAYS)


def test_lengths_are_not_ordered_with_other_things():
    for length in (Time.seconds(1), Duration.of_seconds(1), Instant(1, 0)):
        assert length != 1000
        with pytest.raises(TypeError, match="not supported between instances"):
            length < 1000  # noqa: B015
