"""Graphs that are not a line: partitioners, unions, diamonds, side outputs, many stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment
from tests.spark import functions
from tests.spark.jobs import collect, per_key


@pytest.mark.parametrize(
    ("spread", "received"),
    [
        pytest.param(lambda s: s.rebalance(), {0: 2, 1: 2, 2: 2}, id="rebalance"),
        pytest.param(lambda s: s.global_(), {0: 6}, id="global"),
        pytest.param(lambda s: s.broadcast(), {0: 6, 1: 6, 2: 6}, id="broadcast"),
    ],
)
def test_w_84_partitioners(
    env: StreamExecutionEnvironment, spread: Callable[[Any], Any], received: dict[int, int]
) -> None:
    spread_out = spread(env.from_collection(range(1, 7)))
    pairs = collect(spread_out.map(functions.WithSubtask()).set_parallelism(3))
    assert Counter(index for index, _ in pairs) == received


def test_w_84_custom_partitioner(env: StreamExecutionEnvironment) -> None:
    custom = env.from_collection(range(1, 7)).partition_custom(lambda key, count: key % count, lambda value: value)
    pairs = collect(custom.map(functions.WithSubtask()).set_parallelism(3))
    assert per_key(pairs) == {0: [3, 6], 1: [1, 4], 2: [2, 5]}


def test_w_84_rescale_feeds_two_of_four(env: StreamExecutionEnvironment) -> None:
    halves = env.from_sequence(1, 8).set_parallelism(2)
    pairs = collect(halves.rescale().map(functions.WithSubtask()).set_parallelism(4))
    received = {index: set(values) for index, values in per_key(pairs).items()}
    assert received[0] | received[1] == {1, 2, 3, 4}
    assert received[2] | received[3] == {5, 6, 7, 8}
    assert all(len(values) == 2 for values in received.values())


def test_shuffle_loses_nothing(env: StreamExecutionEnvironment) -> None:
    assert sorted(collect(env.from_sequence(1, 1000).shuffle().map(lambda n: n))) == list(range(1, 1001))


def test_equal_keys_meet_whatever_they_look_like_and_whoever_sends_them(env: StreamExecutionEnvironment) -> None:
    numbers, sets = [1, 1.0, True, Decimal("1.00")], [frozenset("abc"), frozenset("cba")]
    spread = env.from_collection([(key, 1) for key in [*numbers, *sets]]).rebalance().map(lambda pair: pair)
    counts = collect(spread.set_parallelism(3).key_by(lambda pair: pair[0]).sum(1).set_parallelism(3))
    assert sorted(count for key, count in counts if key == 1) == [1, 2, 3, 4]
    assert sorted(count for key, count in counts if key != 1) == [1, 2]


def test_union_of_three(env: StreamExecutionEnvironment) -> None:
    streams = [env.from_collection([(name, n) for n in range(100)]) for name in "abc"]
    merged = streams[0].union(*streams[1:]).map(lambda pair: pair).set_parallelism(1)
    assert per_key(collect(merged)) == {name: list(range(100)) for name in "abc"}


def test_diamond_whose_short_arm_passes_through_the_stages_of_the_long_one(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection(range(500))
    short = numbers.map(lambda n: ("short", n)).set_parallelism(1)
    long = numbers.rebalance().map(lambda n: n + 1).rebalance().map(lambda n: n - 1).map(lambda n: ("long", n))
    merged = short.union(long).key_by(0).map(lambda pair: pair)
    found = per_key(collect(merged))
    assert found["short"] == list(range(500))
    assert sorted(found["long"]) == list(range(500))


def test_side_output(env: StreamExecutionEnvironment) -> None:
    even = env.from_collection(range(10)).process(functions.SplitOdd())
    odd = even.get_side_output(functions.ODD)
    both = even.map(lambda n: ("even", n)).union(odd.map(lambda n: ("odd", n)))
    assert {tag: sorted(numbers) for tag, numbers in per_key(collect(both)).items()} == {
        "even": [0, 2, 4, 6, 8],
        "odd": [1, 3, 5, 7, 9],
    }


def test_lambdas_closures_generators_and_collectors(env: StreamExecutionEnvironment) -> None:
    offset = 10

    def twice(value: int) -> Iterator[int]:
        yield value
        yield value

    def plus_offset(value: int, out: Any) -> None:
        out.collect(value + offset)

    env.set_parallelism(1)
    stream = env.from_elements(1, 2, 3).filter(lambda n: n != 2).flat_map(twice).flat_map(plus_offset)
    assert collect(stream) == [11, 11, 13, 13]


def test_five_stages_of_four_subtasks(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(4)
    stream: Any = env.from_sequence(1, 20_000)
    for _ in range(4):
        stream = stream.rebalance().map(lambda n: n + 1)
    total = stream.key_by(lambda _: 0).reduce(lambda a, b: a + b)
    plan = env.explain()
    assert "24" in plan  # 5 stages and the keyed one, 4 subtasks each
    assert max(collect(total)) == sum(range(5, 20_005))


def test_one_function_in_two_steps_of_a_stage_counts_for_each(env: StreamExecutionEnvironment) -> None:
    ones = env.from_collection([1, 1])
    counter = functions.Counter()
    first = ones.key_by(lambda one: one).map(counter).map(lambda count: ("first", count))
    second = ones.key_by(lambda one: one).map(counter).map(lambda count: ("second", count))
    assert per_key(collect(first.union(second))) == {"first": [1, 2], "second": [1, 2]}
