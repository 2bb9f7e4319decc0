"""What can be measured: the jobs, the systems, and how many records each system gets."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Job:
    """A job that every system does alike."""

    name: str
    title: str
    records: int
    """Records at full size; 0 for the latency jobs, which run for a time."""

    @property
    def is_latency(self) -> bool:
        """Whether the job measures delays instead of throughput."""
        return self.records == 0


JOBS: tuple[Job, ...] = (
    Job("count-1k", "keyed running count, 1,000 keys", 10_000_000),
    Job("count-1m", "keyed running count, 1,000,000 keys", 10_000_000),
    Job("words", "word count over generated text", 10_000_000),
    Job("chain", "stateless chain of three maps and two filters, no exchange", 10_000_000),
    Job("latency-1", "latency at 1,000 records/s, one exchange", 0),
    Job("latency-2", "latency at 1,000 records/s, two exchanges", 0),
    Job("tumbling", "tumbling 10 s event-time count, 1,000 keys", 4_000_000),
    Job("sliding", "sliding 60 s / 5 s event-time sum, 1,000 keys", 1_000_000),
    Job("sessions", "session windows, gap 1 s, event time, 1,000 keys", 2_000_000),
    Job("timers", "process function with value state and a timer per record, event time, 1,000 keys", 2_000_000),
    Job("interval-join", "interval join, 200 ms either way, 5,000 keys, half of the records per stream", 10_000_000),
    Job("window-join", "join in tumbling 1 s windows, 5,000 keys, half of the records per stream", 4_000_000),
    Job("broadcast-rules", "keyed events enriched by 1,000 broadcast rules", 10_000_000),
    Job("q0", "Nexmark 0: bids as they are", 4_000_000),
    Job("q1", "Nexmark 1: bids in another currency", 4_000_000),
    Job("q2", "Nexmark 2: bids on some auctions", 4_000_000),
    Job("q3", "Nexmark 3: who sells in three states, state kept for ever", 4_000_000),
    Job("q5", "Nexmark 5: the auction with most bids, sliding 10 s / 2 s", 2_000_000),
    Job("q7", "Nexmark 7: the highest bid, tumbling 10 s", 2_000_000),
    Job("q8", "Nexmark 8: sellers who have just registered, window join, tumbling 10 s", 4_000_000),
    Job("q11", "Nexmark 11: bids per bidder and session, gap 10 s", 2_000_000),
    Job("q12", "Nexmark 12: bids per bidder and second of the clock", 4_000_000),
)

_NEXMARK = ("q0", "q1", "q2", "q3", "q5", "q7", "q8", "q11", "q12")
_STATELESS = ("chain", "q0", "q1", "q2")

_ALL = tuple(job.name for job in JOBS)
_COUNTS = ("count-1k", "count-1m", "words")
_LATENCIES = ("latency-1", "latency-2")
_WINDOWS = ("tumbling", "sliding", "sessions")
_ONE_STREAM = _COUNTS + _LATENCIES + _WINDOWS + ("chain", "timers") + _NEXMARK
_PYFLINK_JOBS = (*_ONE_STREAM, "interval-join", "broadcast-rules")


@dataclass(frozen=True)
class System:
    """A system, or one mode of it, and what it is given to do."""

    name: str
    family: str
    """Modes of one system share it; comparisons take the better mode."""

    module: str
    variant: str = ""
    environment: str = ""
    jobs: tuple[str, ...] = _ALL
    most: dict[str, int] = field(default_factory=dict)
    """Records at most, per job, for systems too slow for the full size."""

    newest_only: bool = False
    """Whether the latency query shows only the newest of a key's records in a micro-batch, hence perhaps not all."""

    def records(self, job: Job, asked: int | None, *, quick: bool, parallelism: int) -> int:
        """Returns how many records this system gets for a job: a multiple of ten per source."""
        full = job.records if asked is None else asked
        limit = self.most.get(job.name, full)
        if quick:
            full, limit = min(full, 200_000), max(2_000, limit // 10)
        step = 10 * parallelism
        return max(step, min(full, limit) // step * step)


SYSTEMS: tuple[System, ...] = (
    System("handwritten", "handwritten", "handwritten"),
    System("penstock", "penstock", "penstock"),
    System("penstock-batches", "penstock-batches", "penstock", variant="batches", jobs=("chain",)),
    System(
        "pyflink-process",
        "pyflink",
        "pyflink",
        variant="process",
        environment="pyflink",
        jobs=_PYFLINK_JOBS,
        most={
            "count-1k": 40_000,
            "count-1m": 20_000,
            "words": 40_000,
            "tumbling": 20_000,
            "sliding": 5_000,
            "sessions": 20_000,
            "interval-join": 10_000,
            "broadcast-rules": 20_000,
            "chain": 40_000,
            "timers": 10_000,
            "q0": 40_000,
            "q1": 40_000,
            "q2": 60_000,
            "q3": 60_000,
            "q5": 10_000,
            "q7": 20_000,
            "q8": 40_000,
            "q11": 20_000,
            "q12": 40_000,
        },
    ),
    System(
        "pyflink-thread",
        "pyflink",
        "pyflink",
        variant="thread",
        environment="pyflink",
        jobs=_PYFLINK_JOBS,
        most={
            "count-1k": 200_000,
            "count-1m": 200_000,
            "words": 200_000,
            "tumbling": 40_000,
            "sliding": 20_000,
            "sessions": 40_000,
            "interval-join": 30_000,
            "broadcast-rules": 60_000,
            "chain": 200_000,
            "timers": 30_000,
            "q0": 100_000,
            "q1": 100_000,
            "q2": 100_000,
            "q3": 100_000,
            "q5": 20_000,
            "q7": 40_000,
            "q8": 60_000,
            "q11": 40_000,
            "q12": 60_000,
        },
    ),
    *(
        System(
            f"bytewax-{mode}",
            "bytewax",
            "bytewax",
            variant=mode,
            environment="bytewax",
            jobs=_ONE_STREAM,
            most={
                "count-1k": 2_000_000,
                "count-1m": 2_000_000,
                "words": 2_000_000,
                "tumbling": 400_000,
                "sliding": 200_000,
                "sessions": 400_000,
                "chain": 2_000_000,
                "timers": 200_000,
                "q0": 1_000_000,
                "q1": 1_000_000,
                "q2": 1_000_000,
                "q3": 1_000_000,
                "q5": 20_000,
                "q7": 40_000,
                "q8": 100_000,
                "q11": 60_000,
                "q12": 400_000,
            },
        )
        for mode in ("threads", "processes")
    ),
    System(
        "spark-tws",
        "spark",
        "spark",
        variant="rows",
        environment="spark",
        jobs=(*_COUNTS, *_LATENCIES, "q3"),
        most={"count-1k": 500_000, "count-1m": 200_000, "words": 500_000, "q3": 1_000_000},
    ),
    System(
        "spark-tws-pandas",
        "spark",
        "spark",
        variant="pandas",
        environment="spark",
        jobs=_COUNTS,
        most={"count-1k": 500_000, "count-1m": 200_000, "words": 500_000},
    ),
    System(
        "spark-udf",
        "spark-udf",
        "spark",
        variant="udf",
        environment="spark",
        jobs=_STATELESS,
        most={"chain": 2_000_000, "q0": 1_000_000, "q1": 1_000_000, "q2": 1_000_000},
    ),
    System("spark-sql", "spark", "spark", variant="sql", environment="spark", jobs=_LATENCIES, newest_only=True),
)


class UnknownNameError(ValueError):
    """A job or system was asked for that does not exist."""


def choose_jobs(names: str | None) -> list[Job]:
    """Returns the jobs named in a comma-separated list, all if there is none."""
    if not names:
        return list(JOBS)
    known = {job.name: job for job in JOBS}
    return [known[name] for name in _known(names, set(known), "job")]


def choose_systems(names: str | None) -> list[System]:
    """Returns the systems named in a comma-separated list, where a family's name stands for all its modes."""
    if not names:
        return list(SYSTEMS)
    wanted = _known(names, {system.name for system in SYSTEMS} | {system.family for system in SYSTEMS}, "system")
    return [system for system in SYSTEMS if system.name in wanted or system.family in wanted]


def _known(names: str, known: set[str], kind: str) -> list[str]:
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            message = f"there is no {kind} called {name!r}; there are: {', '.join(sorted(known))}"
            raise UnknownNameError(message)
    return wanted
