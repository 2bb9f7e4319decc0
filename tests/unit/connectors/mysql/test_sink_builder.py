"""A sink is refused where it is written, not when it runs."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.connectors.mysql import MySqlSink, MySqlSinkBuilder
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery, DeliveryGuarantee


def builder() -> MySqlSinkBuilder:
    return MySqlSink.builder().set_url("mysql://localhost/shop")


def test_inserts_are_at_least_once() -> None:
    assert builder().set_table("t", "a").build().delivery is Delivery.AT_LEAST_ONCE


def test_upserts_are_idempotent() -> None:
    assert builder().set_table("t", "a", "b").set_key_columns("a").build().delivery is Delivery.IDEMPOTENT


def test_exactly_once_is_transactional_and_needs_checkpoints() -> None:
    sink = builder().set_table("t", "a").set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    assert sink.delivery is Delivery.TRANSACTIONAL
    sink.check(checkpoint_interval=1000, checkpoint_timeout=600_000)
    with pytest.raises(ProgramError, match="enable_checkpointing"):
        sink.check(checkpoint_interval=None, checkpoint_timeout=600_000)


def test_sinks_travel() -> None:
    sink = builder().set_table("t", "a").set_key_columns("a").build()
    assert pickle.loads(pickle.dumps(sink)).settings == sink.settings


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it,
        lambda it: it.set_table("t", "a").set_statement("INSERT INTO t VALUES (?)"),
        lambda it: it.set_statement("INSERT INTO t VALUES (?)").set_key_columns("a"),
        lambda it: it.set_statement("INSERT INTO t VALUES (?, ?)", "a"),
        lambda it: it.set_table("t"),
        lambda it: it.set_table("t", "a").set_batch_size(0),
        lambda it: it.set_table("t", "a").set_batch_interval(-1),
        lambda it: it.set_table("t", "a").set_delivery_guarantee(DeliveryGuarantee.NONE),
    ],
)
def test_what_makes_no_sense_is_refused(change: Any) -> None:
    with pytest.raises(ProgramError):
        change(builder()).build()


def test_a_database_must_be_named() -> None:
    with pytest.raises(ProgramError, match="set_url"):
        MySqlSink.builder().set_table("t", "a").build()
