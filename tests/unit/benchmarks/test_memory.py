"""When the memory of a long run counts as flat."""

from benchmarks.memory import GROWTH_MEGABYTES, Sample, growth, verdict


def _samples(*workers: int) -> list[Sample]:
    return [
        Sample(seconds=10.0 * number, driver=100, jvm=500, workers=(80, size)) for number, size in enumerate(workers)
    ]


def test_growth_counts_from_the_end_of_the_first_quarter() -> None:
    # Of eight samples the third one ends the first quarter.
    assert growth(_samples(50, 150, 200, 210, 230, 205, 220, 215)) == 30


def test_any_process_may_be_the_one_that_grows() -> None:
    assert growth([Sample(0.0, 100, 500, (80,)), Sample(10.0, 100, 560, (85,))]) == 60


def test_a_sample_taken_while_a_process_ends_does_not_hide_growth() -> None:
    assert growth(_samples(100, 100, 100, 180, 0)) == 80


def test_memory_is_flat_up_to_a_limit() -> None:
    assert verdict(_samples(100, 100 + GROWTH_MEGABYTES)) == (True, "growth after the first quarter: 200 MB (flat)")
    assert verdict(_samples(100, 101 + GROWTH_MEGABYTES)) == (
        False,
        "growth after the first quarter: 201 MB (NOT FLAT)",
    )
