"""What must hold, and where it does not."""

from __future__ import annotations

from benchmarks import verdicts
from benchmarks.suite import Measurement


def _measured(system: str, family: str, rate: int) -> Measurement:
    return Measurement("count-1k", system, family, rate, [{"records": rate, "seconds": 1.0}])


FOUR = [
    _measured("handwritten", "handwritten", 2_500),
    _measured("penstock", "penstock", 1_000),
    _measured("pyflink-process", "pyflink", 10),
    _measured("pyflink-thread", "pyflink", 50),
]


def test_ratios_are_to_the_better_mode() -> None:
    assert verdicts.ratios(FOUR) == {"count-1k": {"handwritten": 0.4, "pyflink": 20.0}}


def test_a_bar_that_is_not_reached_is_starred() -> None:
    assert verdicts.missed(FOUR) == [("count-1k", "handwritten", 0.4)]
    lines = verdicts.table(FOUR).splitlines()
    assert lines[1].split() == ["count-1k", "0.4*", "20", "-", "-"]
    assert lines[-1] == "1 bars (*) are not reached"


def test_a_job_without_penstock_has_no_ratios() -> None:
    assert verdicts.ratios(FOUR[:1]) == {}
