"""Counters, meters, distributions, gauges and the tree they live in."""

import pytest

from penstock.vocabulary.metrics import MetricGroup


class ManualClock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def group(clock):
    return MetricGroup(clock)


def test_a_counter_counts_up_and_down(group):
    counter = group.counter("c")
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    counter.dec()
    assert counter.get_count() == 3


def test_a_metric_of_the_same_name_is_the_same_metric(group):
    group.counter("c").inc()
    group.counter("c").inc()
    assert group.snapshot() == {"c": 2}


def test_a_name_stands_for_one_kind_of_metric(group):
    group.counter("c")
    with pytest.raises(TypeError, match="'c' is a Counter already"):
        group.meter("c")
    with pytest.raises(TypeError, match="'c' is a Counter already"):
        group.gauge("c", lambda: 1)


def test_a_meter_averages_over_its_time_span(group, clock):
    meter = group.meter("m", 10)
    for second in range(10):
        clock.now = second * 1_000
        meter.mark_event(2)
    assert meter.get_count() == 20
    assert meter.get_rate() == 2.0
    clock.now = 14_999
    assert meter.get_rate() == 1.0
    clock.now = 60_000
    assert meter.get_rate() == 0.0
    assert meter.get_count() == 20
    meter.mark_event()
    assert meter.get_rate() == 0.1


def test_a_meter_spans_a_minute_unless_told_otherwise(group, clock):
    meter = group.meter("m")
    meter.mark_event(60)
    clock.now = 59_999
    assert meter.get_rate() == 1.0
    clock.now = 60_000
    assert meter.get_rate() == 0.0
    with pytest.raises(ValueError, match="time span"):
        group.meter("n", 0)


def test_a_meter_stands_a_clock_that_goes_back(group, clock):
    meter = group.meter("m", 10)
    clock.now = 5_000
    meter.mark_event()
    clock.now = 1_000
    meter.mark_event()
    assert meter.get_count() == 2
    assert meter.get_rate() == 0.2


def test_a_distribution_knows_its_spread(group):
    distribution = group.distribution("d")
    assert distribution.report() == {"count": 0, "sum": 0, "min": None, "max": None, "mean": None}
    for value in (4, 1, 7):
        distribution.update(value)
    assert distribution.get_count() == 3
    assert distribution.get_sum() == 12
    assert distribution.get_min() == 1
    assert distribution.get_max() == 7
    assert distribution.get_mean() == 4


def test_a_gauge_is_asked_when_somebody_looks(group):
    queue = []
    group.gauge("size", lambda: len(queue))
    queue.append("x")
    assert group.snapshot() == {"size": 1}
    group.gauge("size", lambda: 42)
    assert group.snapshot() == {"size": 42}


def test_a_gauge_that_raises_does_not_break_the_snapshot(group):
    group.counter("c").inc()
    group.gauge("g", lambda: 1 // 0)
    assert group.snapshot() == {"c": 1, "g": None}
    with pytest.raises(TypeError, match="needs a function"):
        group.gauge("h", 3)


def test_groups_make_a_tree_of_names(clock):
    root = MetricGroup(clock, ["job", "map"])
    parser = root.add_group("parser")
    assert root.add_group("parser") is parser
    by_topic = parser.add_group("topic", "orders")
    by_topic.counter("bad").inc(3)
    root.meter("rate").mark_event(60)
    assert by_topic.get_scope_components() == ["job", "map", "parser", "topic", "orders"]
    assert by_topic.get_all_variables() == {"topic": "orders"}
    assert parser.get_all_variables() == {}
    assert by_topic.add_group("deeper").get_all_variables() == {"topic": "orders"}
    assert by_topic.get_metric_identifier("bad") == "job.map.parser.topic.orders.bad"
    assert root.snapshot() == {
        "job.map.parser.topic.orders.bad": 3,
        "job.map.rate": {"count": 60, "rate": 1.0},
    }
