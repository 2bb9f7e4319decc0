"""Metrics of a running function: counters, meters, distributions and gauges in a tree of named groups.

A metric lives in the process of its subtask; `MetricGroup.snapshot` reads the whole tree as plain values,
which is what a subtask reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

__all__ = ["Clock", "Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]

Clock: TypeAlias = Callable[[], int]
"""A function that returns the present time in milliseconds."""

M = TypeVar("M", bound="Metric")


class Metric(ABC):
    """Something a function measures under a name."""

    @abstractmethod
    def report(self) -> Any:
        """Return the present value as plain data: a number, or a dict of numbers."""


class Counter(Metric):
    """A number that a function counts up and down."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        """Create a counter at 0."""
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Count up by `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Count down by `n`."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count."""
        return self._count

    def report(self) -> int:
        """Return the count."""
        return self._count


class Meter(Metric):
    """A rate: how many events per second happened within the latest time span."""

    def __init__(self, clock: Clock, time_span_in_seconds: int = 60) -> None:
        """Create a meter that averages over `time_span_in_seconds` of `clock`."""
        if time_span_in_seconds < 1:
            msg = f"The time span of a meter is {time_span_in_seconds} s; it must be 1 s or more."
            raise ValueError(msg)
        self._clock = clock
        self._span = time_span_in_seconds
        self._count = 0
        self._events_in_span = 0
        self._per_second: deque[list[int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        """Note that `value` events happened just now."""
        second = self._clock() // 1000
        self._count += value
        self._events_in_span += value
        if self._per_second and self._per_second[-1][0] >= second:
            self._per_second[-1][1] += value
        else:
            self._per_second.append([second, value])
            self._forget_before(second)

    def get_count(self) -> int:
        """Return how many events happened in all."""
        return self._count

    def get_rate(self) -> float:
        """Return the events per second, averaged over the time span."""
        self._forget_before(self._clock() // 1000)
        return self._events_in_span / self._span

    def report(self) -> dict[str, float]:
        """Return count and rate."""
        return {"count": self._count, "rate": self.get_rate()}

    def _forget_before(self, second: int) -> None:
        while self._per_second and self._per_second[0][0] <= second - self._span:
            self._events_in_span -= self._per_second.popleft()[1]


class Distribution(Metric):
    """The spread of values that a function reports: count, sum, least, greatest and mean."""

    __slots__ = ("_count", "_max", "_min", "_sum")

    def __init__(self) -> None:
        """Create a distribution of no values."""
        self._count = 0
        self._sum = 0.0
        self._min: float | None = None
        self._max: float | None = None

    def update(self, value: float) -> None:
        """Add one value."""
        self._count += 1
        self._sum += value
        if self._min is None or value < self._min:
            self._min = value
        if self._max is None or value > self._max:
            self._max = value

    def get_count(self) -> int:
        """Return how many values were added."""
        return self._count

    def get_sum(self) -> float:
        """Return the sum of the values."""
        return self._sum

    def get_min(self) -> float | None:
        """Return the least value, or None if there is none."""
        return self._min

    def get_max(self) -> float | None:
        """Return the greatest value, or None if there is none."""
        return self._max

    def get_mean(self) -> float | None:
        """Return the mean of the values, or None if there is none."""
        return self._sum / self._count if self._count else None

    def report(self) -> dict[str, float | None]:
        """Return count, sum, min, max and mean."""
        return {
            "count": self._count,
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
            "mean": self.get_mean(),
        }


class Gauge(Metric):
    """A value that is asked for when somebody looks."""

    def __init__(self, obj: Callable[[], Any]) -> None:
        """Create a gauge over the function `obj`."""
        self._function: Callable[[], Any] = _callable(obj)

    def get_value(self) -> Any:
        """Return the value of the function now."""
        return self._function()

    def report(self) -> Any:
        """Return the value of the function now, or None if it raises: looking must not break a job."""
        try:
            return self._function()
        except Exception:
            return None


class MetricGroup:
    """A named place in the tree of metrics; a function gets its own from its runtime context.

    Example:
        >>> group = MetricGroup(lambda: 0)
        >>> group.add_group("parser").counter("bad_lines").inc()
        >>> group.snapshot()
        {'parser.bad_lines': 1}
    """

    def __init__(self, clock: Clock, scope: Sequence[str] = ()) -> None:
        """Create the root of a tree whose meters read `clock`; `scope` comes before every name."""
        self._clock = clock
        self._scope = tuple(scope)
        self._variables: dict[str, str] = {}
        self._groups: dict[str, MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the subgroup `name`; with `extra`, the subgroup `extra` of it, which then is a key and its value."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = MetricGroup(self._clock, (*self._scope, name))
            group._variables = dict(self._variables)
        if extra is None:
            return group
        value_group = group.add_group(extra)
        value_group._variables[name] = extra
        return value_group

    def counter(self, name: str) -> Counter:
        """Return the counter `name` of this group and make it if need be."""
        return self._metric(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Report what `obj()` returns under `name`; a gauge of that name is replaced."""
        if isinstance(self._metrics.get(name), Gauge):
            del self._metrics[name]
        self._metric(name, Gauge, lambda: Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter `name` of this group and make it if need be."""
        return self._metric(name, Meter, lambda: Meter(self._clock, time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Return the distribution `name` of this group and make it if need be."""
        return self._metric(name, Distribution, Distribution)

    def get_scope_components(self) -> list[str]:
        """Return the names from the root down to this group."""
        return list(self._scope)

    def get_all_variables(self) -> dict[str, str]:
        """Return the keys and values that `add_group(key, value)` noted on the way to this group."""
        return dict(self._variables)

    def get_metric_identifier(self, metric_name: str) -> str:
        """Return the full name of a metric of this group."""
        return ".".join((*self._scope, metric_name))

    def snapshot(self) -> dict[str, Any]:
        """Return the present value of every metric of this group and its subgroups by its full name."""
        # Copies, because a reporting thread may look while the function adds metrics.
        values = {self.get_metric_identifier(name): metric.report() for name, metric in list(self._metrics.items())}
        for group in list(self._groups.values()):
            values.update(group.snapshot())
        return values

    def _metric(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = create()
        if not isinstance(metric, kind):
            msg = (
                f"The metric {self.get_metric_identifier(name)!r} is a {type(metric).__name__} already; "
                f"give the {kind.__name__} another name."
            )
            raise TypeError(msg)
        return metric


def _callable(obj: Any) -> Callable[[], Any]:
    if not callable(obj):
        msg = f"A gauge needs a function without parameters, not {obj!r}."
        raise TypeError(msg)
    return obj  # type: ignore[no-any-return]
