"""Where the values of a record are found."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import pytest

from penstock import Row
from penstock.connectors.mysql.record_values import RecordValues
from penstock.errors import ProgramError

Named = namedtuple("Named", "b a")


@dataclass
class Item:
    b: int
    a: int


@pytest.mark.parametrize(
    "record", [{"b": 2, "a": 1}, Row(b=2, a=1), Row(1, 2), Item(2, 1), (1, 2), [1, 2]], ids=lambda record: repr(record)
)
def test_mappings_and_objects_by_name_sequences_by_position(record: object) -> None:
    values = RecordValues(["a", "b"], 2, None).of([record])
    assert [list(row) for row in values] == [[1, 2]]


def test_named_tuples_are_tuples() -> None:
    assert RecordValues(["a", "b"], 2, None).of([Named(1, 2)]) == [(1, 2)]


def test_single_values_need_no_tuple() -> None:
    values = RecordValues(None, 1, None)
    assert values.of([1, "x", None, (5,)]) == [(1,), ("x",), (None,), (5,)]
    assert RecordValues(["a"], 1, None).of([{"a": 3}, 4]) == [(3,), (4,)]


def test_records_without_names_for_several_placeholders_are_refused() -> None:
    with pytest.raises(ProgramError, match="dict"):
        RecordValues(None, 2, None).of([{"a": 1}])
    with pytest.raises(ProgramError, match="int"):
        RecordValues(["a", "b"], 2, None).of([1])


def test_a_builder_has_the_say() -> None:
    assert RecordValues(None, 2, lambda record: (record, record * 2)).of([1, 2]) == [(1, 2), (2, 4)]
