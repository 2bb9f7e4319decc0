"""A record that is too large fails the job with a message that names it; a large block is cut into records."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock import Configuration, SerializationError, StreamExecutionEnvironment
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.elements import RECORDS
from penstock.runtime.exchange.record_size import too_large
from penstock.runtime.exchange.writer import ChannelWriter
from tests.unit.local_jobs import results


def large(size: int) -> str:
    return "x" * size


@pytest.mark.parametrize("size", [2000, 1_000_000])
def test_a_record_that_is_too_large_is_named_with_its_step(size: int) -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"penstock.max-record-size": "1 kb"}))
    stream = env.set_parallelism(1).from_collection([10, size]).map(large).name("enlarge")
    with pytest.raises(SerializationError) as raised:
        results(stream.key_by(len).map(len))
    message = str(raised.value)
    assert "penstock.max-record-size is 1,024 bytes" in message
    assert "'xxx" in message
    assert "'enlarge'" in message
    assert len(message) < 1000


def test_records_that_are_small_enough_pass() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"penstock.max-record-size": "1 kb"}))
    stream = env.set_parallelism(1).from_collection([900] * 5).map(large)
    assert results(stream.key_by(len).map(len)) == [900] * 5


def test_a_block_whose_records_are_small_enough_is_cut() -> None:
    blocks: list[bytes] = []
    channel = ChannelWriter(0, lambda _, data: blocks.append(data), most_bytes=1000)
    values, _ = channel.open_run(has_timestamps=False)
    values.extend("abc"[index % 3] * 600 for index in range(6))
    channel.flush()
    assert all(len(block) <= 1000 for block in blocks)
    found = [value for block in blocks for element in decode(block) if element[0] == RECORDS for value in element[1]]
    assert found == ["abc"[index % 3] * 600 for index in range(6)]


@dataclass
class Document:
    content: bytes


@pytest.mark.parametrize("value", [b"y" * 10_000, [b"y" * 10_000] * 9, {"y": "y" * 10_000}, Document(b"y" * 10_000)])
def test_a_large_record_is_shown_by_its_beginning(value: object) -> None:
    assert len(str(too_large(value, 10_000, 1))) < 2000
