"""map_with_state and its two siblings."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import ProcessFunction, UserFunctionError
from tests.unit.local_jobs import environment, results


def keyed(values: list[Any]) -> Any:
    return environment().from_collection(values).key_by(lambda record: record[0])


def test_w_11_map_with_state_identity() -> None:
    seen: list[Any] = []
    values = [(1, "a"), (2, "b"), (3, "c"), (1, "d")]

    def identity(element: Any, state: Any) -> Any:
        seen.append(state)
        assert state is None
        return element, state

    assert results(keyed(values).map_with_state(identity)) == values


def test_the_state_is_per_key_and_starts_as_none() -> None:
    values = [("a", 1), ("b", 2), ("a", 3)]

    def numbered(element: Any, count: int | None) -> Any:
        return (element[0], (count or 0) + 1), (count or 0) + 1

    assert results(keyed(values).map_with_state(numbered)) == [("a", 1), ("b", 1), ("a", 2)]


def test_none_clears_the_state() -> None:
    def alternate(element: Any, state: Any) -> Any:
        return (state is None), (None if state else "seen")

    assert results(keyed([("a", 1)] * 4).map_with_state(alternate)) == [True, False, True, False]


def test_map_may_return_none_as_a_result() -> None:
    assert results(keyed([("a", 1)]).map_with_state(lambda element, state: (None, state))) == [None]


def test_flat_map_with_state_gives_any_number_of_results() -> None:
    def pairs(element: Any, last: Any) -> Any:
        return ([] if last is None else [(last, element[1])]), element[1]

    values = [("a", 1), ("b", 5), ("a", 2), ("a", 3)]
    assert results(keyed(values).flat_map_with_state(pairs)) == [(1, 2), (2, 3)]


def test_flat_map_with_state_may_return_no_iterable() -> None:
    assert results(keyed([("a", 1)]).flat_map_with_state(lambda element, state: (None, 1))) == []


def test_filter_with_state_keeps_records() -> None:
    def is_new(element: Any, seen: Any) -> Any:
        return element[1] not in (seen or ()), (*(seen or ()), element[1])

    values = [("a", 1), ("a", 1), ("b", 1), ("a", 2)]
    assert results(keyed(values).filter_with_state(is_new)) == [("a", 1), ("b", 1), ("a", 2)]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("map_with_state", lambda e, s: (e[1], s), [(1, 10), (2, 20)]),
        ("flat_map_with_state", lambda e, s: ([e[1]] * e[1], s), [(1, 10), (2, 20), (2, 20)]),
        ("filter_with_state", lambda e, s: (e[1] == 2, s), [(("a", 2), 20)]),
    ],
)
def test_results_keep_the_timestamp_of_their_record(name: str, answer: Any, expected: list[Any]) -> None:
    stream = environment().from_collection([("a", 1), ("a", 2)]).assign_ascending_timestamps(lambda e: e[1] * 10)
    assert results(getattr(stream.key_by(0), name)(answer).process(Stamped())) == expected


def test_a_function_that_returns_no_pair_is_explained() -> None:
    with pytest.raises(UserFunctionError) as caught:
        results(keyed([("a", 1)]).map_with_state(lambda element, state: 5))
    assert caught.value.step == "Map With State (1/1)"
    assert caught.value.record == "('a', 1)"
