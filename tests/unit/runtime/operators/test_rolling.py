"""Rolling aggregations: AGG-01 to AGG-03."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from penstock import ProcessFunction, ReduceFunction, Row, RowKind, UserFunctionError
from penstock.vocabulary.functions.fields import FieldReducer
from tests.unit.local_jobs import environment, results


def keyed(values: list[Any], key: Any = 0) -> Any:
    return environment().from_collection(values).key_by(key)


class Longest(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return value2 if len(value2) > len(value1) else value1


def test_agg_01_the_first_record_is_emitted_unchanged() -> None:
    assert results(keyed([3, 4, 5], lambda x: 0).reduce(lambda a, b: a + b)) == [3, 7, 12]


def test_agg_01_with_a_function_object() -> None:
    assert results(keyed(["aa", "b", "ccc"], lambda x: 0).reduce(Longest())) == ["aa", "aa", "ccc"]


def test_agg_01_per_key() -> None:
    assert results(keyed([1, 2, 3, 4], lambda x: x % 2).reduce(lambda a, b: a + b)) == [1, 2, 4, 6]


def test_a_falsy_result_is_a_result() -> None:
    assert results(keyed([0, 0, 1, -1, 5], lambda x: 0).reduce(lambda a, b: a + b)) == [0, 0, 1, 0, 5]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


def test_reduce_keeps_timestamps() -> None:
    stream = environment().from_collection([1, 2]).assign_ascending_timestamps(lambda value: value * 10)
    found = stream.key_by(lambda x: 0).reduce(lambda a, b: a + b).process(Stamped())
    assert results(found) == [(1, 10), (3, 20)]


def test_agg_02_sum_emits_on_every_element() -> None:
    values = [("a", 1), ("b", 10), ("a", 2), ("a", 3)]
    assert results(keyed(values).sum(1)) == [("a", 1), ("b", 10), ("a", 3), ("a", 6)]


READINGS = [("s", 3, "first"), ("s", 1, "second"), ("s", 5, "third"), ("s", 1, "fourth"), ("s", 5, "fifth")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # min and max change the field only; the rest stays that of the key's first record.
        ("min", [(3, "first"), (1, "first"), (1, "first"), (1, "first"), (1, "first")]),
        ("max", [(3, "first"), (3, "first"), (5, "first"), (5, "first"), (5, "first")]),
        # min_by and max_by give the whole record, the first one among equals.
        ("min_by", [(3, "first"), (1, "second"), (1, "second"), (1, "second"), (1, "second")]),
        ("max_by", [(3, "first"), (3, "first"), (5, "third"), (5, "third"), (5, "third")]),
    ],
)
def test_agg_03(kind: str, expected: list[tuple[int, str]]) -> None:
    assert results(getattr(keyed(READINGS), kind)(1)) == [("s", *rest) for rest in expected]


class Tuple3(NamedTuple):
    key: str
    level: int
    note: str


Old = namedtuple("Old", ["key", "level", "note"])


@dataclass
class Plain:
    key: str
    level: int
    note: str


@dataclass(frozen=True, slots=True)
class Slotted:
    key: str
    level: int
    note: str


class Handmade:
    def __init__(self, key: str, level: int, note: str) -> None:
        self.key, self.level, self.note = key, level, note

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.key)


def _dictionary(key: str, level: int, note: str) -> dict[str, Any]:
    return {"key": key, "level": level, "note": note}


def _row(key: str, level: int, note: str) -> Row:
    return Row(key=key, level=level, note=note)


RECORDS = [Tuple3, Old, Plain, Slotted, Handmade, _dictionary, _row]


@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_fields_by_name(make: Any) -> None:
    values = [make("a", 3, "x"), make("a", 1, "y"), make("a", 5, "z")]
    assert results(keyed(values, "key").sum("level")) == [make("a", 3, "x"), make("a", 4, "x"), make("a", 9, "x")]
    assert results(keyed(values, "key").min("level")) == [make("a", 3, "x"), make("a", 1, "x"), make("a", 1, "x")]
    assert results(keyed(values, "key").max_by("level")) == [make("a", 3, "x"), make("a", 3, "x"), make("a", 5, "z")]


@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_the_records_themselves_are_not_changed(make: Any) -> None:
    first, second = make("a", 3, "x"), make("a", 1, "y")
    FieldReducer("sum", "level")(first, second)
    assert first == make("a", 3, "x")


@pytest.mark.parametrize(
    "make", [Tuple3, Old, lambda *fields: fields, lambda *fields: Row(*fields), lambda *f: list(f)]
)
def test_fields_by_index(make: Any) -> None:
    values = [make("a", 3, "x"), make("a", 1, "y")]
    assert results(keyed(values, lambda record: record[0]).sum(1)) == [make("a", 3, "x"), make("a", 4, "x")]
    assert results(keyed(values, lambda record: record[0]).min_by(1)) == [make("a", 3, "x"), make("a", 1, "y")]


def test_the_kind_of_a_named_tuple_stays() -> None:
    first = results(keyed([Tuple3("a", 1, "x"), Tuple3("a", 2, "y")], "key").sum(1))[-1]
    assert type(first) is Tuple3


def test_a_row_keeps_names_and_kind() -> None:
    row = Row.of_kind(RowKind.UPDATE_AFTER, key="a", level=1)
    found = results(keyed([row, Row(key="a", level=2)], "key").sum("level"))[-1]
    assert found.get_field_names() == ["key", "level"]
    assert found.get_row_kind() is RowKind.UPDATE_AFTER


@pytest.mark.parametrize("kind", ["sum", "min", "max", "min_by", "max_by"])
def test_fields_counted_from_the_end(kind: str) -> None:
    values = [("a", "x", 3), ("a", "y", 1)]
    assert results(getattr(keyed(values), kind)(-1)) == results(getattr(keyed(values), kind)(2))


def test_plain_values_are_their_own_field() -> None:
    assert results(keyed([3, 1, 5], lambda x: 0).sum()) == [3, 4, 9]
    assert results(keyed([3, 1, 5], lambda x: 0).min()) == [3, 1, 1]
    assert results(keyed([3, 1, 5], lambda x: 0).max_by(0)) == [3, 3, 5]


def test_a_missing_field_is_explained() -> None:
    with pytest.raises(UserFunctionError, match="A record of type int has no field 1") as caught:
        results(keyed([1, 2], lambda x: 0).sum(1))
    assert "in step    'Sum (1/1)'" in str(caught.value)
