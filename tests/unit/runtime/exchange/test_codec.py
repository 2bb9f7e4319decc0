"""Elements to bytes and back."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, SerializationError
from penstock.runtime.exchange.codec import decode, encode
from penstock.runtime.exchange.elements import BARRIER, END_OF_INPUT, RECORDS, STATUS, WATERMARK, Element

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
RUNS = st.lists(VALUES, min_size=1).flatmap(
    lambda values: st.tuples(
        st.just(RECORDS),
        st.just(values),
        st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(values), max_size=len(values)),
    )
)
ELEMENTS = st.lists(
    RUNS
    | st.tuples(st.just(WATERMARK), st.integers(-(2**63), 2**63 - 1))
    | st.tuples(st.just(STATUS), st.booleans())
    | st.tuples(st.just(BARRIER), st.integers(1), st.just(()))
    | st.just(END_OF_INPUT)
)


@settings(max_examples=25)
@given(ELEMENTS)
def test_what_goes_in_comes_out(elements: list[Element]) -> None:
    assert decode(encode(elements)) == elements


@dataclass
class Reading:
    level: int


def test_rows_and_classes_of_the_program_travel() -> None:
    values = [Row(a=1, b="x"), Reading(3), frozenset({1})]
    assert decode(encode([(RECORDS, values, None)]))[0][1] == values


def test_a_view_into_a_larger_block_is_read_without_copying() -> None:
    data = b"head" + encode([(WATERMARK, 5)])
    assert decode(memoryview(data)[4:]) == [(WATERMARK, 5)]


def test_lambdas_and_local_classes_travel_too() -> None:
    @dataclass
    class Local:
        number: int

    (element,) = decode(encode([(RECORDS, [lambda x: x + 1, Local(4)], None)]))
    function, value = element[1]
    assert function(1) == 2
    assert value.number == 4


def test_a_value_that_cannot_travel_is_shown() -> None:
    lock = threading.Lock()
    with pytest.raises(SerializationError, match=r"type lock cannot be sent(?s:.*)<unlocked") as caught:
        encode([(RECORDS, [1, 2, lock], None)])
    assert isinstance(caught.value.__cause__, TypeError)


class Secret:
    def __reduce__(self) -> Any:
        raise pickle.PicklingError("keeps to itself")

    def __repr__(self) -> str:
        raise RuntimeError("not even shown")


def test_a_value_whose_repr_raises_is_named_by_its_type() -> None:
    with pytest.raises(SerializationError, match=r"type Secret (?s:.*)keeps to itself(?s:.*)not even shown"):
        encode([(RECORDS, [Secret()], None)])


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(SerializationError) as caught:
        encode([(RECORDS, [["x" * 10_000, threading.Lock()]], None)])
    assert len(str(caught.value)) < 1000


MANY = range(200)
PLAIN = [
    pytest.param([number * 10**12 for number in MANY], id="numbers"),
    pytest.param([f"word {number}" for number in MANY], id="texts"),
    pytest.param([(number, f"name {number}", number / 7, None, True, b"%d" % number) for number in MANY], id="tuples"),
    pytest.param([(number, "the same") for number in MANY], id="a text that comes again"),
    pytest.param([*MANY, [1, [2]], {"a": {3}}, (4, (5,))], id="something else behind the sample"),
    pytest.param([(number, [number]) for number in MANY], id="lists inside"),
    pytest.param([(number,) * (1 + number % 3) for number in MANY], id="tuples of several lengths"),
]


@pytest.mark.parametrize("values", PLAIN)
def test_blocks_of_flat_records_come_back_as_they_were(values: list[Any]) -> None:
    elements: list[Any] = [(RECORDS, values, list(range(len(values)))), (WATERMARK, 7)]
    back = decode(encode(elements))
    assert back == elements
    assert [type(value) for value in back[0][1]] == [type(value) for value in values]


def test_a_text_that_comes_again_is_stored_once() -> None:
    remark = "x" * 1_000
    assert len(encode([(RECORDS, [(number, remark) for number in MANY], None)])) < 5_000


def test_a_record_that_holds_itself_travels_among_flat_ones() -> None:
    cyclic: list[Any] = [1]
    cyclic.append(cyclic)
    back = decode(encode([(RECORDS, [*MANY, cyclic], None)]))[0][1][-1]
    assert back[1] is back
