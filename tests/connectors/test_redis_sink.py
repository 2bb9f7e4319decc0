"""Values under keys in Redis: what is written, when, and what outages do to it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.connectors.redis import RedisSink
from penstock.connectors.redis.sink import RedisSinkBuilder
from penstock.connectors.redis.writer import RedisWriter
from penstock.errors import ExternalSystemError, ProgramError
from tests.connectors.writer_context import Surroundings
from tests.servers.redis import RedisServer


def builder(server: RedisServer, **options: Any) -> RedisSinkBuilder:
    return RedisSink.builder().set_url(server.url, **{"retry_backoff": 0, **options}).set_key(lambda pair: pair[0])


def values(server: RedisServer, **options: Any) -> RedisSinkBuilder:
    return builder(server, **options).set_value(lambda pair: pair[1])


def everything(server: RedisServer) -> dict[str, Any]:
    with server.connect() as client:
        keys = list(client.scan_iter())
        return {key: client.hgetall(key) if client.type(key) == "hash" else client.get(key) for key in keys}


def write(sink: RedisSink, *records: Any) -> None:
    writer = sink.create_writer(Surroundings().context())
    writer.write_run(list(records), None)
    writer.flush(end_of_input=True)
    writer.close()


def test_the_last_value_of_a_key_counts(redis_store: RedisServer) -> None:
    write(values(redis_store).build(), ("a", 1), ("b", "x"), ("a", 2.5))
    assert everything(redis_store) == {"a": "2.5", "b": "x"}


def test_w_102_the_same_key_and_value_twice_is_one_entry(redis_store: RedisServer) -> None:
    sink = values(redis_store).build()
    write(sink, ("hello", 1))
    write(sink, ("hello", 1))
    assert everything(redis_store) == {"hello": "1"}


def test_w_102_a_key_with_the_time_in_it_makes_two_entries(redis_store: RedisServer) -> None:
    surroundings = Surroundings()
    sink = values(redis_store).set_key(lambda pair: f"{pair[0]}{surroundings.time}").build()
    write(sink, ("hello", 1))
    surroundings.advance(1)
    write(sink, ("hello", 1))
    assert everything(redis_store) == {"hello1000": "1", "hello1001": "1"}


def test_nothing_removes_a_key(redis_store: RedisServer) -> None:
    write(values(redis_store).build(), ("a", 1), ("b", 1), ("a", None))
    assert everything(redis_store) == {"b": "1"}


def test_fields_of_a_hash(redis_store: RedisServer) -> None:
    sink = builder(redis_store).set_fields(lambda pair: pair[1]).build()
    write(sink, ("u1", {"name": "Ann", "age": 5}), ("u1", {"age": 6}), ("u2", {"age": 7}), ("u2", None))
    assert everything(redis_store) == {"u1": {"name": "Ann", "age": "6"}}


def test_one_hash_for_all(redis_store: RedisServer) -> None:
    write(values(redis_store).set_hash_name("totals").build(), ("a", 1), ("b", 2), ("a", 3), ("b", None))
    assert everything(redis_store) == {"totals": {"a": "3"}}


def test_keys_expire(redis_store: RedisServer) -> None:
    write(values(redis_store).set_expiry(60_000).build(), ("a", 1))
    write(builder(redis_store).set_fields(lambda pair: {"f": pair[1]}).set_expiry(60_000).build(), ("b", 1))
    with redis_store.connect() as client:
        assert 0 < client.pttl("a") <= 60_000
        assert 0 < client.pttl("b") <= 60_000


def test_records_are_sent_by_number_by_time_and_before_a_checkpoint(redis_store: RedisServer) -> None:
    surroundings = Surroundings()
    sink = values(redis_store).set_batch_size(2).set_batch_interval(100).build()
    writer = sink.create_writer(surroundings.context())
    writer.write(("a", 1), None)
    assert everything(redis_store) == {}
    writer.write(("b", 1), None)
    assert everything(redis_store) == {"a": "1", "b": "1"}
    writer.write(("c", 1), None)
    surroundings.advance(100)
    assert set(everything(redis_store)) == {"a", "b", "c"}
    writer.write(("d", 1), None)
    writer.flush(end_of_input=False)
    assert set(everything(redis_store)) == {"a", "b", "c", "d"}
    writer.close()


def test_a_batch_waits_for_a_server_that_comes_back(redis_store: RedisServer) -> None:
    writer = values(redis_store, retries=30, retry_backoff=50).build().create_writer(Surroundings().context())
    writer.write(("a", 1), None)
    writer.flush(end_of_input=False)
    redis_store.kill()
    back = threading.Timer(0.5, redis_store.start)
    back.start()
    writer.write(("b", 1), None)
    writer.flush(end_of_input=False)
    back.join()
    assert everything(redis_store) == {"a": "1", "b": "1"}
    writer.close()


def test_a_server_that_stays_away_fails_the_job(redis_store: RedisServer) -> None:
    waits: list[float] = []
    settings = values(redis_store, retries=2, retry_backoff=1000).build().settings
    writer = RedisWriter(settings, Surroundings().context(), waits.append)
    writer.write(("a", 1), None)
    redis_store.stop()
    with pytest.raises(ExternalSystemError, match="failed 3 times"):
        writer.flush(end_of_input=False)
    assert waits == [1, 2]
    redis_store.start()
    writer.flush(end_of_input=False)
    assert everything(redis_store) == {"a": "1"}
    writer.close()


def test_values_that_redis_does_not_know_are_explained(redis_store: RedisServer) -> None:
    with pytest.raises(ProgramError, match="text, bytes and numbers"):
        write(values(redis_store).build(), ("a", object()))


def test_what_the_server_refuses_is_explained(redis_store: RedisServer) -> None:
    with redis_store.connect() as client:
        client.set("totals", "not a hash")
    with pytest.raises(ExternalSystemError, match="WRONGTYPE"):
        write(values(redis_store).set_hash_name("totals").build(), ("a", 1))
