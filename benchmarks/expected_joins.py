"""The results of the jobs with two streams, computed over all data at once, without any streaming."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from benchmarks import join_workload, workload

Checks = dict[str, int]

_VALUE_BITS = 7
"""Values are below 100; a time and a value packed into one integer sort by time."""


def checks(job: str, records: int, parallelism: int) -> Checks:
    """Returns the number of results and their check sum for a job of this size."""
    if job == join_workload.RULES_JOB:
        return _enriched(records, parallelism)
    lefts, rights = (_events(side, records, parallelism) for side in (join_workload.LEFT, join_workload.RIGHT))
    return _interval_pairs(lefts, rights) if job == "interval-join" else _window_pairs(lefts, rights)


def _events(side: int, records: int, parallelism: int) -> Iterator[workload.Event]:
    event = join_workload.JoinEvents(side, records, parallelism)
    return map(event, range(join_workload.per_stream(records)))


def _enriched(records: int, parallelism: int) -> Checks:
    factors = dict(map(join_workload.rule, range(join_workload.RULES)))
    events = map(workload.Events(join_workload.RULES_JOB, records, parallelism), range(records))
    total = sum(workload.mark(*join_workload.enrich(event, factors[event[0]])) for event in events)
    return {"results": records, "sum": total}


def _interval_pairs(lefts: Iterator[workload.Event], rights: Iterator[workload.Event]) -> Checks:
    """Looks each left event's partners up among the sorted right events of its key."""
    packed: defaultdict[int, list[int]] = defaultdict(list)
    for key, time, value in rights:
        packed[key].append(time << _VALUE_BITS | value)
    for others in packed.values():
        others.sort()
    results = total = 0
    for left in lefts:
        others = packed.get(left[0], [])
        first = bisect_left(others, left[1] - join_workload.INTERVAL_MS << _VALUE_BITS)
        behind = bisect_left(others, left[1] + join_workload.INTERVAL_MS + 1 << _VALUE_BITS)
        for other in others[first:behind]:
            time, value = other >> _VALUE_BITS, other & (1 << _VALUE_BITS) - 1
            total += workload.mark(*join_workload.pair(left, (left[0], time, value)))
        results += behind - first
    return {"results": results, "sum": total}


def _window_pairs(lefts: Iterator[workload.Event], rights: Iterator[workload.Event]) -> Checks:
    """Pairs the events of each key and window."""
    size = join_workload.JOIN_WINDOW_MS
    windows: defaultdict[tuple[int, int], list[workload.Event]] = defaultdict(list)
    for right in rights:
        windows[right[0], right[1] // size].append(right)
    results = total = 0
    for left in lefts:
        others = windows.get((left[0], left[1] // size), [])
        total += sum(workload.mark(*join_workload.pair(left, right)) for right in others)
        results += len(others)
    return {"results": results, "sum": total}
