"""Blocks: the order of elements is kept, and blocks have a limit."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import SerializationError
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.elements import BARRIER, END_OF_INPUT, RECORDS, STATUS, WATERMARK, Element
from penstock.runtime.exchange.writer import BLOCK_RECORDS, ChannelWriter, ExchangeWriter


class Sent:
    """Keeps the blocks sent to each target."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, bytes]] = []

    def __call__(self, target: int, data: bytes) -> None:
        self.blocks.append((target, data))

    def elements(self, target: int = 0) -> list[Element]:
        return [element for to, data in self.blocks if to == target for element in decode(data)]

    def flat(self, target: int = 0) -> list[Any]:
        """Records one by one as (value, timestamp), control elements as they are."""
        found: list[Any] = []
        for element in self.elements(target):
            if element[0] == RECORDS:
                found.extend(zip(element[1], element[2] or [None] * len(element[1]), strict=True))
            else:
                found.append(element)
        return found


def writer(count: int = 1) -> tuple[ExchangeWriter, Sent]:
    sent = Sent()
    return ExchangeWriter([ChannelWriter(target, sent) for target in range(count)]), sent


def test_nothing_is_sent_before_a_flush() -> None:
    exchange, sent = writer()
    exchange.process([1, 2], None)
    assert sent.blocks == []
    exchange.flush()
    assert sent.elements() == [(RECORDS, [1, 2], None)]


def test_an_empty_flush_sends_nothing() -> None:
    exchange, sent = writer()
    exchange.flush()
    assert sent.blocks == []


def test_control_elements_keep_their_place_between_records() -> None:
    exchange, sent = writer()
    exchange.process([1], [10])
    exchange.process_watermark(10)
    exchange.process([2, 3], [11, 12])
    exchange.process_status(True)
    exchange.broadcast((BARRIER, 1, ()))
    exchange.process([4], [13])
    exchange.broadcast(END_OF_INPUT)
    exchange.flush()
    assert len(sent.blocks) == 1
    assert sent.elements() == [
        (RECORDS, [1], [10]),
        (WATERMARK, 10),
        (RECORDS, [2, 3], [11, 12]),
        (STATUS, True),
        (BARRIER, 1, ()),
        (RECORDS, [4], [13]),
        END_OF_INPUT,
    ]


def test_a_run_has_timestamps_for_all_or_for_none() -> None:
    exchange, sent = writer()
    exchange.process([1], None)
    exchange.process([2], [20])
    exchange.process([3], [30])
    exchange.process([4], None)
    exchange.flush()
    assert sent.elements() == [(RECORDS, [1], None), (RECORDS, [2, 3], [20, 30]), (RECORDS, [4], None)]


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("plain"), st.lists(st.integers(), min_size=1, max_size=5)),
        st.tuples(st.just("timed"), st.lists(st.integers(), min_size=1, max_size=5)),
        st.tuples(st.just("watermark"), st.integers(0, 100)),
        st.tuples(st.just("flush"), st.none()),
    )
)


@given(ACTIONS)
def test_order_is_kept_whatever_happens(actions: list[tuple[str, Any]]) -> None:
    exchange, sent = writer()
    expected: list[Any] = []
    for kind, content in actions:
        if kind == "plain":
            expected += [(value, None) for value in content]
            exchange.process(list(content), None)
        elif kind == "timed":
            expected += [(value, value) for value in content]
            exchange.process(list(content), list(content))
        elif kind == "watermark":
            expected.append((WATERMARK, content))
            exchange.process_watermark(content)
        else:
            exchange.flush()
    exchange.flush()
    assert sent.flat() == expected


def test_a_full_block_is_sent_at_once() -> None:
    exchange, sent = writer()
    exchange.process(list(range(BLOCK_RECORDS - 1)), None)
    assert sent.blocks == []
    exchange.process([BLOCK_RECORDS - 1], None)
    assert len(sent.blocks) == 1


def _records(data: bytes) -> int:
    return sum(len(element[1]) for element in decode(data) if element[0] == RECORDS)


@pytest.mark.parametrize("has_timestamps", [False, True])
def test_large_records_make_small_blocks(has_timestamps: bool) -> None:
    """100 KB each: a block should not grow far beyond 256 KB, whatever run the records came in."""
    exchange, sent = writer()
    values = [bytes([number]) * 100_000 for number in range(50)]
    times = list(range(50)) if has_timestamps else None
    exchange.process(list(values), times)
    exchange.process_watermark(7)
    exchange.flush()
    assert max(len(data) for _, data in sent.blocks) < 3 * (1 << 18)
    assert sent.flat() == [*zip(values, times or [None] * 50, strict=True), (WATERMARK, 7)]


def test_records_larger_than_a_block_travel_alone() -> None:
    exchange, sent = writer()
    exchange.process(["a" * 1_000_000, "b" * 1_000_000, "c" * 1_000_000], None)
    exchange.flush()
    assert [_records(data) for _, data in sent.blocks if _records(data)] == [1, 1, 1]


def test_after_large_records_small_ones_fill_blocks_again() -> None:
    exchange, sent = writer()
    exchange.process(["a" * 1_000_000], None)
    exchange.flush()
    for _ in range(8):
        exchange.process([1] * 1000, None)
        exchange.flush()
    sent.blocks.clear()
    exchange.process([1] * 1000, None)
    assert sent.blocks == []


def test_numbers_make_blocks_of_more_records() -> None:
    """Two bytes each: 16,384 of them are sent together, once the first block has shown how small they are."""
    exchange, sent = writer()
    for _ in range(20):
        exchange.process([1] * 1024, None)
    assert [_records(data) for _, data in sent.blocks] == [4096, 16384]


def test_an_unpicklable_value_is_an_error_with_the_value() -> None:
    exchange, _ = writer()
    exchange.process([threading.Lock()], None)
    with pytest.raises(SerializationError, match="type lock"):
        exchange.flush()


def test_control_elements_go_to_every_target() -> None:
    exchange, sent = writer(3)
    exchange.process_watermark(5)
    exchange.flush()
    assert [sent.elements(target) for target in range(3)] == [[(WATERMARK, 5)]] * 3


def test_records_are_counted() -> None:
    exchange, _ = writer()
    exchange.process([1, 2], None)
    exchange.process([3], None)
    assert exchange.records == 3
