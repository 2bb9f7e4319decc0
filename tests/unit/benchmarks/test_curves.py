"""Cost curves: what the results add up to, and what must hold."""

from __future__ import annotations

from benchmarks.curves import CURVES, Point, table, verdicts

BY_NAME = {curve.name: curve for curve in CURVES}


def _point(curve: str, point: int, rate: float) -> Point:
    return Point(curve, "", point, 1_000, [rate])


def test_every_curve_of_the_catalogue_is_there() -> None:
    assert list(BY_NAME) == ["keys", "overlap", "size", "parallelism", "cores", "chain", "state"]
    assert (*BY_NAME["keys"].points, *BY_NAME["keys"].full) == (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def test_sums() -> None:
    # Two keys, four records: the counts 1 and 2, twice.
    assert BY_NAME["keys"].sums_to(2, 4, 1) == 6
    # 0 + 1 + 2, each plus five steps.
    assert BY_NAME["chain"].sums_to(5, 3, 1) == 18
    # Every record's value, position % 100, in each of three windows.
    assert BY_NAME["overlap"].sums_to(3, 4, 2) == 3 * (0 + 1 + 2 + 3)


def test_flat_cost_and_scaling_are_judged() -> None:
    points = [_point("keys", 100, 9.0), _point("keys", 1_000, 2.0), _point("keys", 1_000_000, 1.0)]
    points += [_point("parallelism", 1, 1.0), _point("parallelism", 2, 1.4)]
    points += [_point("cores", 1, 1.0), _point("cores", 2, 1.8)]
    assert verdicts(points) == [
        "cost per record from 1e3 to 1e6 keys within 2.00 x (must be 1.3): False",
        "parallelism 2 makes 1.80 x parallelism 1 (must be 1.7): True",
        "with an exchange, where parallelism 1 has two processes already, 1.40 x",
    ]


def test_a_point_is_shown_next_to_the_cheapest() -> None:
    lines = table([_point("chain", 1, 2_000_000), _point("chain", 20, 500_000)]).splitlines()
    assert lines[1].split() == ["1", "2,000,000", "records/s", "500", "ns", "1.00", "x"]
    assert lines[2].split() == ["20", "500,000", "records/s", "2,000", "ns", "4.00", "x"]
