"""A Redis sink is refused where it is written, not when it runs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.redis import RedisConnectionOptions, RedisSink
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery


def first(record: Any) -> Any:
    return record[0]


def test_it_is_idempotent() -> None:
    sink = RedisSink.builder().set_key(first).set_value(first).build()
    assert sink.delivery is Delivery.IDEMPOTENT
    assert sink.settings.connection.place == "localhost:6379/0"


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.set_value(first),
        lambda it: it.set_key(first),
        lambda it: it.set_key(first).set_value(first).set_fields(first),
        lambda it: it.set_key(first).set_fields(first).set_hash_name("h"),
        lambda it: it.set_key(first).set_value(first).set_hash_name("h").set_expiry(5),
        lambda it: it.set_key(first).set_value(first).set_expiry(0),
        lambda it: it.set_key(first).set_value(first).set_batch_size(0),
    ],
)
def test_what_makes_no_sense_is_refused(change: Any) -> None:
    with pytest.raises(ProgramError):
        change(RedisSink.builder()).build()


def test_an_address_of_something_else_is_refused_without_its_password() -> None:
    with pytest.raises(ProgramError) as caught:
        RedisConnectionOptions(url="http://me:secret@host/")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(RedisConnectionOptions(url="redis://:secret@host/"))
    with pytest.raises(ProgramError):
        RedisConnectionOptions(retries=-1)
