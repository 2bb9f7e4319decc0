"""Which record goes to which subtask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from penstock import DataStream, Partitioner, ProgramError, UserFunctionError
from penstock.foundation.native import native
from penstock.graph import partitioning as ways
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.elements import RECORDS, WATERMARK
from penstock.runtime.exchange.partitioners import make_writer
from penstock.runtime.exchange.writer import ChannelWriter
from tests.unit.local_jobs import by_subtask, environment, run_locally


def spread(way: ways.Partitioning, targets: int, values: list[Any], subtask: int = 0, runs: int = 1) -> list[list[Any]]:
    """What each target gets, as (value, timestamp); the timestamp is ten times the position."""
    received: list[list[Any]] = [[] for _ in range(targets)]
    watermarks = Counter[int]()

    def send(target: int, data: bytes) -> None:
        for element in decode(data):
            if element[0] == RECORDS:
                received[target].extend(zip(element[1], element[2], strict=True))
            elif element[0] == WATERMARK:
                watermarks[target] += 1

    channels = [ChannelWriter(target, send) for target in range(targets)]
    writer = make_writer(way, channels, subtask=subtask, max_parallelism=128)
    size = -(-len(values) // runs)
    for start in range(0, len(values), size):
        part = values[start : start + size]
        writer.process(part, [10 * (start + position) for position in range(len(part))])
    writer.process_watermark(1)
    writer.flush()
    assert watermarks == Counter(range(targets))
    return received


def just_values(received: list[list[Any]]) -> list[list[Any]]:
    return [[value for value, _ in records] for records in received]


ONE_TO_SIX = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("runs", [1, 2, 3, 6])
def test_w_84_rebalance_gives_two_each(runs: int) -> None:
    assert just_values(spread(ways.Rebalance(), 3, ONE_TO_SIX, runs=runs)) == [[1, 4], [2, 5], [3, 6]]


def test_w_84_global_gives_all_to_the_first() -> None:
    assert just_values(spread(ways.Global(), 3, ONE_TO_SIX)) == [ONE_TO_SIX, [], []]


def test_w_84_broadcast_gives_all_to_all() -> None:
    assert just_values(spread(ways.Broadcast(), 3, ONE_TO_SIX)) == [ONE_TO_SIX] * 3


def test_w_84_custom_gives_as_computed() -> None:
    way = ways.Custom(partition=lambda key, count: key % count, key=lambda value: value)
    assert just_values(spread(way, 3, ONE_TO_SIX)) == [[3, 6], [1, 4], [2, 5]]


def test_shuffle_loses_nothing_and_reaches_everybody() -> None:
    received = just_values(spread(ways.Shuffle(), 3, list(range(300))))
    assert sorted(value for values in received for value in values) == list(range(300))
    assert min(len(values) for values in received) > 50


def test_shuffles_of_two_subtasks_differ() -> None:
    assert spread(ways.Shuffle(), 3, list(range(50)), subtask=0) != spread(
        ways.Shuffle(), 3, list(range(50)), subtask=1
    )


@pytest.mark.parametrize(
    "way",
    [
        ways.Rebalance(),
        ways.Rescale(),
        ways.Broadcast(),
        ways.Global(),
        ways.Shuffle(),
        ways.KeyGroups(lambda value: value % 3),
        ways.Custom(partition=lambda key, count: key % count, key=lambda value: value),
    ],
    ids=lambda way: way.label,
)
def test_timestamps_stay_with_their_records_in_order(way: ways.Partitioning) -> None:
    values = list(range(20))
    for records in spread(way, 4, values, runs=3):
        assert records == sorted(records)
        assert all(timestamp == 10 * value for value, timestamp in records)


def test_senders_start_their_round_at_different_receivers() -> None:
    firsts = [spread(ways.Rebalance(), 4, [0], subtask=subtask).index([(0, 0)]) for subtask in range(4)]
    assert sorted(firsts) == [0, 1, 2, 3]


def test_keys_meet() -> None:
    received = just_values(spread(ways.KeyGroups(lambda value: value % 5), 4, list(range(50))))
    places = {value % 5: index for index, values in enumerate(received) for value in values}
    assert sum(len(values) for values in received) == 50
    assert all(places[value % 5] == index for index, values in enumerate(received) for value in values)


@pytest.mark.parametrize("answer", [-1, 3, 100])
def test_a_partitioner_that_points_nowhere_is_refused(answer: int) -> None:
    way = ways.Custom(partition=lambda key, count: answer, key=lambda value: value)
    with pytest.raises(ProgramError, match=rf"returned {answer} \(int\), but it must return an int, 0 to 2"):
        spread(way, 3, ["record"])


def test_a_partitioner_is_asked_for_one_target_too() -> None:
    way = ways.Custom(partition=lambda key, count: 1, key=lambda value: value)
    with pytest.raises(ProgramError, match="must return an int, 0 to 0"):
        spread(way, 1, ["record"])


def printed(partition: Callable[[DataStream[Any]], DataStream[Any]], targets: int) -> dict[int, list[str]]:
    env = environment(targets)
    partition(env.from_collection(ONE_TO_SIX)).print()
    return by_subtask(run_locally(env).printed)


def test_w_84_through_the_api() -> None:
    assert {len(lines) for lines in printed(lambda stream: stream.rebalance(), 3).values()} == {2}
    assert printed(lambda stream: stream.global_(), 3) == {1: ["1", "2", "3", "4", "5", "6"]}
    assert printed(lambda stream: stream.broadcast(), 3) == {
        number: ["1", "2", "3", "4", "5", "6"] for number in (1, 2, 3)
    }
    custom = printed(lambda stream: stream.partition_custom(lambda key, count: key % count, lambda value: value), 3)
    assert custom == {1: ["3", "6"], 2: ["1", "4"], 3: ["2", "5"]}


def test_unequal_parallelism_is_round_robin() -> None:
    """PAR-19."""
    assert {len(lines) for lines in printed(lambda stream: stream, 3).values()} == {2}


def test_w_84_rescale_through_the_api() -> None:
    env = environment(4)
    numbers = env.from_sequence(1, 8).set_parallelism(2).map(lambda x: x).set_parallelism(2)
    numbers.rescale().print()
    found = by_subtask(run_locally(env).printed)
    # Subtask 1 reads 1..4 and feeds subtasks 1 and 2; subtask 2 reads 5..8 and feeds 3 and 4.
    assert sorted(found[1] + found[2]) == ["1", "2", "3", "4"]
    assert sorted(found[3] + found[4]) == ["5", "6", "7", "8"]
    assert {len(lines) for lines in found.values()} == {2}


class ToLast(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return num_partitions - 1


def test_a_partitioner_object_and_a_field_as_key() -> None:
    env = environment(3)
    env.from_collection([("a", 1)]).partition_custom(ToLast(), 0).print()
    assert by_subtask(run_locally(env).printed) == {3: ["('a', 1)"]}


def test_a_wrong_partitioner_fails_the_job_with_its_record() -> None:
    env = environment(3)
    env.from_collection([7]).partition_custom(lambda key, count: 99, lambda value: value).print()
    with pytest.raises(UserFunctionError, match="must return an int, 0 to 2") as caught:
        run_locally(env)
    assert "record     7" in str(caught.value)


@pytest.mark.parametrize(
    "key", [int, str, lambda value: value if value < 900 else f"{value}"], ids=["int", "str", "both"]
)
def test_many_keys_go_where_they_would_go_one_by_one(
    key: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    way = ways.KeyGroups(key)
    values = [(number * 7_919) % 1_000 for number in range(1_200)]
    remembered = spread(way, 3, values, runs=6)
    monkeypatch.setattr("penstock.runtime.exchange.partitioners.WORTHWHILE_KEYS", 100)
    assert spread(way, 3, values, runs=6) == remembered


def test_many_int_keys_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.exchange.partitioners.WORTHWHILE_KEYS", 100)
    channels = [ChannelWriter(target, lambda _, data: None) for target in range(2)]
    writer: Any = make_writer(ways.KeyGroups(int), channels, subtask=0, max_parallelism=128)
    writer.process(list(range(200)), None)
    assert len(writer._cache) == (200 if native is None else 0)  # the accelerator computes them from the first on
    writer.process(list(range(200, 400)), None)
    assert len(writer._cache) == 0
