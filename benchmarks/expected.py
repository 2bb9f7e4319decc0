"""The results every system must reach, computed in one pass over all data, without any streaming."""

from __future__ import annotations

from collections import Counter, defaultdict

from benchmarks import expected_joins, expected_nexmark, join_workload, nexmark, workload

Checks = dict[str, int]


def checks(job: str, records: int, parallelism: int) -> Checks:
    """Returns the number of results and their check sum for a throughput job of this size."""
    if job in workload.COUNT_KEYS:
        return _running_counts(records, workload.COUNT_KEYS[job])
    if job == "words":
        return _word_counts(records // workload.WORDS_PER_LINE)
    if job in join_workload.JOINS or job == join_workload.RULES_JOB:
        return expected_joins.checks(job, records, parallelism)
    if job in nexmark.QUERIES:
        return expected_nexmark.checks(job, records, parallelism)
    if job == workload.CHAIN_JOB:
        return _chained(records)
    event = workload.Events(job, records, parallelism)
    events = map(event, range(records))
    if job == workload.TIMER_JOB:
        # A timer of a key and a time fires once, however many records have set it.
        return _digest(Counter({(key, time + workload.TIMER_MS): 1 for key, time, _ in events}))
    if job == "tumbling":
        return _digest(Counter((key, time - time % workload.TUMBLING_MS) for key, time, _ in events))
    if job == "sliding":
        return _digest(_sliding_sums(events))
    if job == "sessions":
        return _digest(_sessions(events))
    message = f"there is no job called {job!r}"
    raise ValueError(message)


def _running_counts(records: int, keys: int) -> Checks:
    """A key that occurs n times gives the counts 1..n, which sum to n (n + 1) / 2."""
    rounds, rest = divmod(records, keys)
    total = rest * (rounds + 1) * (rounds + 2) // 2 + (keys - rest) * rounds * (rounds + 1) // 2
    return {"results": records, "sum": total}


def _word_counts(lines: int) -> Checks:
    text = workload.text()
    rounds, rest = divmod(lines, len(text))
    counts: Counter[str] = Counter()
    for number, line in enumerate(text):
        for word in line.split():
            counts[word] += rounds + (number < rest)
    return {"results": sum(counts.values()), "sum": sum(n * (n + 1) // 2 for n in counts.values())}


def _chained(records: int) -> Checks:
    readings = ((number * 7_919 % 1_000, number % 977) for number in range(records))
    values = [
        (value - 32) * 5 // 9 * (sensor + 1) for sensor, value in readings if value % 10 and (value - 32) * 5 // 9 > 0
    ]
    return {"results": len(values), "sum": sum(values)}


def _sliding_sums(events: map[workload.Event]) -> Counter[tuple[int, int]]:
    panes: Counter[tuple[int, int]] = Counter()
    for key, time, value in events:
        panes[key, time - time % workload.SLIDE_MS] += value
    sums: Counter[tuple[int, int]] = Counter()
    for (key, pane), value in panes.items():
        for start in range(pane - workload.SLIDING_MS + workload.SLIDE_MS, pane + 1, workload.SLIDE_MS):
            sums[key, start] += value
    return sums


def _sessions(events: map[workload.Event]) -> Counter[tuple[int, int]]:
    """Counts the events of each session, named by its key and first event."""
    times: defaultdict[int, list[int]] = defaultdict(list)
    for key, time, _ in events:
        times[key].append(time)
    sessions: Counter[tuple[int, int]] = Counter()
    for key, stamps in times.items():
        stamps.sort()
        start = previous = stamps[0]
        for time in stamps:
            if time - previous > workload.SESSION_GAP_MS:
                start = time
            previous = time
            sessions[key, start] += 1
    return sessions


def _digest(results: Counter[tuple[int, int]]) -> Checks:
    total = sum(workload.mark(key, start, value) for (key, start), value in results.items())
    return {"results": len(results), "sum": total}
