"""The data of the benchmark jobs."""

from collections import Counter

import pytest

from benchmarks import workload
from benchmarks.workload import EPOCH_MS, OUT_OF_ORDER_MS, Events, mark, ranges, text


def test_ranges_cover_all_numbers_once_and_in_order() -> None:
    assert ranges(10, 3) == [range(3), range(3, 6), range(6, 10)]


def test_text_is_the_same_every_time_and_has_ten_words_per_line() -> None:
    again = workload.text.__wrapped__()
    assert text() == again
    assert {len(line.split()) for line in again} == {workload.WORDS_PER_LINE}


def test_text_has_frequent_and_rare_words() -> None:
    counts = Counter(word for line in text() for word in line.split())
    assert counts.most_common(1)[0][1] > 100 * min(counts.values())


def test_the_sources_of_a_window_job_interleave_in_time() -> None:
    # Two sources of five numbers each: number 0 is event 0, number 5 is event 1, number 1 is event 2 ...
    event = Events("sessions", records=10, parallelism=2)
    one_source = Events("sessions", records=10, parallelism=1)
    assert [event(number) for number in (0, 5, 1, 6, 2)] == [one_source(position) for position in range(5)]


def test_a_steady_event_is_what_the_formula_says() -> None:
    # Position 25: key floor(25 * 7919 / 16) = 12373 -> 373; 2 ms into the epoch less 25 * 31 % 200 = 175 ms; value 25.
    assert Events("tumbling", records=100, parallelism=1)(25) == (373, EPOCH_MS + 2 - 175, 25)


def test_a_session_event_is_what_the_formula_says() -> None:
    # Position 2003: burst 1, third inside: key 100 + floor(3 * 7919 / 16) % 100 = 184; 2003 * 31 % 200 = 93 ms late.
    assert Events("sessions", records=10_000, parallelism=1)(2_003) == (184, EPOCH_MS + 2_003 - 93, 3)


@pytest.mark.parametrize("job", ["tumbling", "sliding", "sessions"])
def test_no_event_of_a_source_is_later_than_the_watermark_allows(job: str) -> None:
    event = Events(job, records=4_000, parallelism=2)
    for source in ranges(4_000, 2):
        newest = 0
        for number in source:
            time = event(number)[1]
            newest = max(newest, time)
            assert time >= newest - OUT_OF_ORDER_MS


@pytest.mark.parametrize("job", ["tumbling", "sessions"])
def test_every_source_sends_to_every_target(job: str) -> None:
    event = Events(job, records=4_000, parallelism=2)
    for source in ranges(4_000, 2):
        assert {event(number)[0] % 2 for number in source} == {0, 1}


def test_the_mark_tells_key_window_and_value_apart() -> None:
    assert len({mark(1, 5_000, 3), mark(2, 5_000, 3), mark(1, 10_000, 3), mark(1, 5_000, 4)}) == 4
