"""The command: ``python -m benchmarks.curves`` shows what a record costs as one thing grows: keys, overlap, size, ...

Every point is a fresh process with a warm-up; results are checked against what they must add up to.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import expected, plots, report, suite, workload
from benchmarks.catalogue import Job, System

_HISTORY = Path(__file__).parent / "history"
_STATE_VALUE = 1_000
_CORES_CHAIN = 5


@dataclass(frozen=True)
class Curve:
    """One thing that grows."""

    name: str
    title: str
    points: tuple[int, ...]
    full: tuple[int, ...]
    """Points that take long or need much memory: measured with ``--full`` only."""

    records: Callable[[int], int]
    sums_to: Callable[[int, int, int], int]
    """What the results must add up to, by point, records and parallelism."""

    variants: tuple[str, ...] = ("",)


@dataclass
class Point:
    """The measurements of one point."""

    curve: str
    variant: str
    point: int
    records: int
    rates: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _running_count(records: int, keys: int) -> int:
    return expected._running_counts(records, keys)["sum"]


def _overlapping(overlap: int, records: int, parallelism: int) -> int:
    event = workload.Events("sliding", records, parallelism)
    return overlap * sum(event(number)[2] for number in range(records))


CURVES = (
    Curve(
        "keys", "keys of a running count", (100, 1_000, 10_000, 100_000, 1_000_000), (10_000_000,),
        lambda keys: max(4_000_000, 2 * keys), lambda keys, records, _: _running_count(records, keys),
    ),
    Curve(
        "overlap", "sliding windows that a record falls into", (1, 5, 12, 30, 60), (),
        lambda overlap: 4_000_000 // (overlap + 3), _overlapping,
    ),
    Curve(
        "size", "bytes of a record", (10, 100, 1_000, 10_000), (),
        lambda size: 2_000_000 * 200 // (200 + size), lambda _, records, __: _running_count(records, 1_000),
    ),
    Curve(
        "parallelism", "parallelism of a running count", (1, 2, 4), (),
        lambda _: 6_000_000, lambda _, records, __: _running_count(records, 1_000),
    ),
    Curve(
        "cores", "parallelism of five chained maps, one process each", (1, 2, 4), (),
        lambda _: 8_000_000, lambda _, records, __: records * (records - 1) // 2 + _CORES_CHAIN * records,
    ),
    Curve(
        "chain", "chained maps", (1, 2, 5, 10, 20), (),
        lambda length: 24_000_000 // (length + 3),
        lambda length, records, _: records * (records - 1) // 2 + length * records,
    ),
    Curve(
        "state", "megabytes of state, values of 1,000 bytes", (1, 10, 100), (500, 2_000),
        lambda megabytes: max(200_000, megabytes * 2_000), lambda _, records, __: records,
        variants=("heap", "rocksdb"),
    ),
)  # fmt: skip


def measure(
    curves: Sequence[Curve], *, full: bool, repeats: int, scale: float, keep: Callable[[list[Point]], None]
) -> list[Point]:
    """Measures all points of some curves; ``keep`` gets everything so far after each sample."""
    points: list[Point] = []
    for curve in curves:
        mine = [
            Point(curve.name, variant, point, max(1_000, int(curve.records(point) * scale)) // 40 * 40)
            for variant in curve.variants
            for point in (*curve.points, *(curve.full if full else ()))
        ]
        points += mine
        for _ in range(repeats):
            for point in mine:
                print(f"{curve.name} {point.variant} {point.point} ...", file=sys.stderr, flush=True)
                _add_sample(curve, point)
                keep(points)
    return points


def _add_sample(curve: Curve, point: Point) -> None:
    parallelism = point.point if curve.name in ("parallelism", "cores") else 2
    plan = suite.Plan(jobs=[], systems=[], repeats=1, parallelism=parallelism)
    job = Job(f"{curve.name}@{point.point}", curve.title, point.records)
    try:
        system = System("penstock", "penstock", "penstock_curves", variant=point.variant)
        sample = suite.run_program(plan, job, system, point.records)
    except suite.MeasurementFailedError as failure:
        point.errors.append(str(failure))
        return
    should = curve.sums_to(point.point, point.records, parallelism)
    if sample["checks"]["sum"] != should:
        point.errors.append(f"wrong results: {sample['checks']} instead of the sum {should}")
    else:
        point.rates.append(sample["records"] / sample["seconds"])


def table(points: list[Point]) -> str:
    """Renders a line per point: records per second, nanoseconds per record, and the cost next to the cheapest point."""
    lines = []
    for name in dict.fromkeys((each.curve, each.variant) for each in points):
        mine = [each for each in points if (each.curve, each.variant) == name]
        title = next(curve.title for curve in CURVES if curve.name == name[0])
        lines.append(f"{name[0]}: {title}{f', {name[1]}' if name[1] else ''}")
        best = max((statistics.median(each.rates) for each in mine if each.rates), default=0.0)
        for each in mine:
            if not each.rates:
                lines.append(f"  {each.point:>10,}  {each.errors[0].splitlines()[0] if each.errors else 'not run'}")
                continue
            rate = statistics.median(each.rates)
            lines.append(
                f"  {each.point:>10,}  {rate:>12,.0f} records/s  {1e9 / rate:>8,.0f} ns  {best / rate:>6.2f} x"
            )
    return "\n".join([*lines, *verdicts(points)])


def verdicts(points: list[Point]) -> list[str]:
    """Says whether what must hold about curves does."""
    rates = {(each.curve, each.point): statistics.median(each.rates) for each in points if each.rates}
    lines = []
    flat = [rates[key] for key in rates if key[0] == "keys" and 1_000 <= key[1] <= 1_000_000]
    if len(flat) > 1:
        spread = max(flat) / min(flat)
        lines.append(f"cost per record from 1e3 to 1e6 keys within {spread:.2f} x (must be 1.3): {spread <= 1.3}")
    if ("cores", 1) in rates and ("cores", 2) in rates:
        gain = rates["cores", 2] / rates["cores", 1]
        lines.append(f"parallelism 2 makes {gain:.2f} x parallelism 1 (must be 1.7): {gain >= 1.7}")
    if ("parallelism", 1) in rates and ("parallelism", 2) in rates:
        gain = rates["parallelism", 2] / rates["parallelism", 1]
        lines.append(f"with an exchange, where parallelism 1 has two processes already, {gain:.2f} x")
    return lines


def draw(points: list[Point], path: Path) -> Path:
    """Draws one panel per curve."""
    from matplotlib import pyplot as plt  # type: ignore[import-not-found, unused-ignore]

    names = list(dict.fromkeys(each.curve for each in points if each.rates))
    figure, panels = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.4), squeeze=False, layout="constrained")
    for panel, name in zip(panels[0], names, strict=True):
        for variant in dict.fromkeys(each.variant for each in points if each.curve == name):
            mine = [each for each in points if (each.curve, each.variant) == (name, variant) and each.rates]
            ys = [statistics.median(each.rates) for each in mine]
            panel.plot([each.point for each in mine], ys, marker="o", label=variant or None)
        panel.set_xscale("log")
        panel.set_ylim(bottom=0)
        panel.set_xlabel(next(curve.title for curve in CURVES if curve.name == name))
        if len({each.variant for each in points if each.curve == name}) > 1:
            panel.legend()
    panels[0][0].set_ylabel("records per second")
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def _document(points: list[Point]) -> dict[str, Any]:
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "made": made,
        "commit": report.commit(),
        "machine": report.machine(),
        "points": [asdict(each) for each in points],
        "verdicts": verdicts(points),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measures what the command line asks for and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--curves", help=f"comma-separated, of {', '.join(curve.name for curve in CURVES)}")
    parser.add_argument("--full", action="store_true", help="also 1e7 keys and state of 500 MB and 2 GB")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the records of every point")
    parser.add_argument("--output", type=Path, help="JSON file; benchmarks/history/<date>-<commit>-curves.json")
    options = parser.parse_args(arguments)
    wanted = options.curves.split(",") if options.curves else [curve.name for curve in CURVES]
    path = options.output or _HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-{report.commit()}-curves.json"
    points = measure(
        [curve for curve in CURVES if curve.name in wanted],
        full=options.full,
        repeats=options.repeats,
        scale=options.scale,
        keep=lambda so_far: report.write(path, _document(so_far)),
    )
    print(", ".join(f"{name} {value}" for name, value in report.machine().items()))
    print(table(points))
    print(f"written: {path}")
    if plots.can_draw() and any(each.rates for each in points):
        print(f"written: {draw(points, path.with_suffix('.png'))}")
    for each in points:
        for error in each.errors:
            print(f"\n{each.curve} {each.variant} {each.point}: {error}")
    return 1 if any(each.errors for each in points) else 0


if __name__ == "__main__":
    sys.exit(main())
