"""The JDBC sink under PyFlink's names."""

from __future__ import annotations

import pytest

from penstock import Types
from penstock.connectors.mysql import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink, MySqlConnectionOptions
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery

INSERT = "INSERT INTO books (id, title) VALUES (?, ?)"
ROW = Types.ROW_NAMED(["id", "title"], [Types.INT(), Types.STRING()])


def connection() -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url("jdbc:mysql://db:3307/shop")
        .with_driver_name("com.mysql.cj.jdbc.Driver")
        .with_user_name("clerk")
        .with_password("secret")
        .build()
    )


def test_options_are_those_of_pyflink() -> None:
    options = connection()
    assert options.get_db_url() == "jdbc:mysql://db:3307/shop"
    assert options.get_driver_name() == "com.mysql.cj.jdbc.Driver"
    assert (options.get_user_name(), options.get_password()) == ("clerk", "secret")
    execution = JdbcExecutionOptions.builder().build()
    assert (execution.get_batch_interval_ms(), execution.get_batch_size(), execution.get_max_retries()) == (0, 5000, 3)


def test_a_sink_takes_them() -> None:
    execution = (
        JdbcExecutionOptions.builder().with_batch_interval_ms(100).with_batch_size(200).with_max_retries(5).build()
    )
    sink = JdbcSink.sink(INSERT, ROW, connection(), execution)
    assert sink.settings.connection == MySqlConnectionOptions(
        host="db", port=3307, database="shop", user="clerk", password="secret", retries=5
    )
    assert (sink.settings.batch_interval, sink.settings.batch_size) == (100, 200)
    assert sink.settings.columns == ("id", "title")
    assert sink.delivery is Delivery.AT_LEAST_ONCE
    assert JdbcSink.exactly_once_sink(INSERT, ROW, connection()).delivery is Delivery.TRANSACTIONAL


def test_idm_01_an_upsert_is_idempotent() -> None:
    sink = JdbcSink.sink(f"{INSERT} ON DUPLICATE KEY UPDATE title = VALUES(title)", ROW, connection())
    assert sink.delivery is Delivery.IDEMPOTENT


def test_rows_without_names_go_by_position() -> None:
    assert JdbcSink.sink(INSERT, Types.ROW([Types.INT(), Types.STRING()]), connection()).settings.columns is None
    assert JdbcSink.sink(INSERT, None, connection()).settings.columns is None


def test_fields_and_placeholders_must_agree() -> None:
    with pytest.raises(ProgramError, match="2 placeholders"):
        JdbcSink.sink(INSERT, Types.ROW([Types.INT()]), connection())


def test_other_databases_are_refused() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    with pytest.raises(ProgramError, match="postgresql"):
        builder.with_driver_name("org.postgresql.Driver")
    with pytest.raises(ProgramError, match="with_url"):
        builder.build()
    with pytest.raises(ProgramError, match="no address of a database"):
        JdbcSink.sink(INSERT, ROW, builder.with_url("jdbc:postgresql://h/d").build())


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ProgramError):
        JdbcExecutionOptions.builder().with_batch_size(0)
    with pytest.raises(ProgramError):
        JdbcExecutionOptions.builder().with_max_retries(-1)
