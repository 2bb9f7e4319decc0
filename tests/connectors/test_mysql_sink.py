"""Rows in batches: when they are sent, how they are written, and what lost connections do to them."""

from __future__ import annotations

import datetime
import threading
import time
from decimal import Decimal
from typing import Any

import pytest

from penstock.connectors.mysql import MySqlConnectionOptions, MySqlSink, MySqlSinkBuilder
from penstock.connectors.mysql.batch_writer import BatchWriter
from penstock.connectors.mysql.connection import MySqlConnection
from penstock.errors import ExternalSystemError, ProgramError
from tests.connectors.writer_context import Surroundings
from tests.servers.mariadb import Database

COUNTS = "CREATE TABLE counts (word VARCHAR(50) PRIMARY KEY, total INT)"
EVENTS = "CREATE TABLE events (id INT AUTO_INCREMENT PRIMARY KEY, value VARCHAR(50))"


@pytest.fixture
def surroundings() -> Surroundings:
    return Surroundings()


def builder(database: Database, **options: Any) -> MySqlSinkBuilder:
    return MySqlSink.builder().set_url(database.url, **options)


def inserts(database: Database, **options: Any) -> MySqlSinkBuilder:
    database.execute(EVENTS)
    return builder(database, **options).set_table("events", "value")


def upserts(database: Database) -> MySqlSinkBuilder:
    database.execute(COUNTS)
    return builder(database).set_table("counts", "word", "total").set_key_columns("word")


def values(database: Database) -> list[Any]:
    return [value for (value,) in database.rows("SELECT value FROM events ORDER BY id")]


def test_rows_are_sent_when_there_are_enough(mariadb: Database, surroundings: Surroundings) -> None:
    writer = inserts(mariadb).set_batch_size(3).build().create_writer(surroundings.context())
    writer.write("a", None)
    writer.write("b", None)
    assert values(mariadb) == []
    writer.write("c", None)
    assert values(mariadb) == ["a", "b", "c"]
    writer.write_run(["d", "e", "f", "g"], None)
    assert values(mariadb) == list("abcdefg")
    writer.close()


def test_rows_are_sent_before_a_checkpoint(mariadb: Database, surroundings: Surroundings) -> None:
    writer = inserts(mariadb).build().create_writer(surroundings.context())
    writer.write_run(["a", "b"], None)
    writer.flush(end_of_input=False)
    assert values(mariadb) == ["a", "b"]
    assert writer.prepare_commit() == []
    writer.close()


def test_rows_are_sent_after_a_while(mariadb: Database, surroundings: Surroundings) -> None:
    writer = inserts(mariadb).set_batch_interval(200).build().create_writer(surroundings.context())
    writer.write("a", None)
    surroundings.advance(150)
    writer.write("b", None)
    assert values(mariadb) == []
    surroundings.advance(50)
    assert values(mariadb) == ["a", "b"]
    writer.write("c", None)
    surroundings.advance(199)
    assert values(mariadb) == ["a", "b"]
    surroundings.advance(1)
    assert values(mariadb) == ["a", "b", "c"]
    writer.close()


def test_w_102_the_same_key_and_value_twice_is_one_row(mariadb: Database, surroundings: Surroundings) -> None:
    writer = upserts(mariadb).build().create_writer(surroundings.context())
    writer.write_run([("hello", 1), ("hello", 1)], None)
    writer.flush(end_of_input=False)
    writer.write(("hello", 1), None)
    writer.flush(end_of_input=False)
    assert mariadb.rows("SELECT * FROM counts") == [("hello", 1)]
    writer.close()


def test_w_102_a_key_with_the_time_in_it_makes_two_rows(mariadb: Database, surroundings: Surroundings) -> None:
    context = surroundings.context()
    writer = upserts(mariadb).set_statement_builder(lambda word: (f"{word}{context.now()}", 1)).build()
    running = writer.create_writer(context)
    running.write("hello", None)
    running.flush(end_of_input=False)
    surroundings.advance(1)
    running.write("hello", None)
    running.flush(end_of_input=False)
    assert mariadb.rows("SELECT word FROM counts ORDER BY word") == [("hello1000",), ("hello1001",)]
    running.close()


def test_an_upsert_keeps_the_last_value_of_a_key(mariadb: Database, surroundings: Surroundings) -> None:
    writer = upserts(mariadb).build().create_writer(surroundings.context())
    writer.write_run([{"word": "a", "total": 1}, {"word": "b", "total": 1}, {"word": "a", "total": 2}], None)
    writer.flush(end_of_input=False)
    writer.write({"word": "b", "total": 5}, None)
    writer.flush(end_of_input=True)
    assert mariadb.rows("SELECT * FROM counts ORDER BY word") == [("a", 2), ("b", 5)]
    writer.close()


def test_values_of_all_types_arrive_as_they_are(mariadb: Database, surroundings: Surroundings) -> None:
    mariadb.execute(
        "CREATE TABLE kinds (a VARCHAR(50), b VARBINARY(50), c DOUBLE, d DECIMAL(10, 2), e DATETIME(6), f DATE, "
        "g BOOL, h BIGINT)"
    )
    row = (
        "it's 100 % ? \\ \u00e9\U0001f600",
        b"\x00'\xff",
        0.1,
        Decimal("12.30"),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 678901),  # noqa: DTZ001 - the column has no time zone
        datetime.date(2020, 1, 2),
        None,
        -(1 << 63),
    )
    writer = builder(mariadb).set_table("kinds", *"abcdefgh").build().create_writer(surroundings.context())
    writer.write(row, None)
    writer.flush(end_of_input=True)
    assert mariadb.rows("SELECT * FROM kinds") == [row]
    writer.close()


def test_points_in_time_are_written_in_the_zone_of_the_session(mariadb: Database, surroundings: Surroundings) -> None:
    mariadb.execute("CREATE TABLE times (at DATETIME)")
    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    sink = builder(mariadb, time_zone="+02:00").set_table("times", "at").build()
    writer = sink.create_writer(surroundings.context())
    writer.write(noon, None)
    writer.flush(end_of_input=True)
    writer.close()
    assert mariadb.rows("SELECT CAST(at AS CHAR) FROM times") == [("2020-01-01 14:00:00",)]
    writer = builder(mariadb).set_table("times", "at").build().create_writer(surroundings.context())
    writer.write(noon, None)
    with pytest.raises(ProgramError, match="time_zone"):
        writer.flush(end_of_input=True)
    writer.close()


def test_statements_of_the_programs_own(mariadb: Database, surroundings: Surroundings) -> None:
    mariadb.execute(COUNTS, "INSERT INTO counts VALUES ('a', 1), ('b', 10)")
    sink = builder(mariadb).set_statement("UPDATE counts SET total = total + ? WHERE word = ?", "by", "word").build()
    writer = sink.create_writer(surroundings.context())
    writer.write_run([{"word": "a", "by": 5}, {"word": "b", "by": 7}], None)
    writer.flush(end_of_input=True)
    assert mariadb.rows("SELECT * FROM counts ORDER BY word") == [("a", 6), ("b", 17)]
    writer.close()


def test_a_lost_connection_is_made_again(mariadb: Database, surroundings: Surroundings) -> None:
    writer = inserts(mariadb, retry_backoff=0).build().create_writer(surroundings.context())
    writer.write("a", None)
    writer.flush(end_of_input=False)
    mariadb.disconnect_all()
    writer.write("b", None)
    writer.flush(end_of_input=False)
    assert values(mariadb) == ["a", "b"]
    writer.close()


def test_a_batch_waits_for_a_server_that_comes_back(mariadb: Database, surroundings: Surroundings) -> None:
    writer = inserts(mariadb, retries=20, retry_backoff=100).build().create_writer(surroundings.context())
    writer.write("a", None)
    writer.flush(end_of_input=False)
    mariadb.server.kill()
    back = threading.Timer(1, mariadb.server.start)
    back.start()
    writer.write("b", None)
    writer.flush(end_of_input=False)
    back.join()
    assert values(mariadb) == ["a", "b"]
    writer.close()


def test_a_server_that_stays_away_fails_the_job(mariadb: Database, surroundings: Surroundings) -> None:
    settings = inserts(mariadb, retries=3, retry_backoff=1000).build().settings
    waits: list[float] = []
    writer = BatchWriter(settings, surroundings.context(), MySqlConnection(settings.connection, waits.append))
    writer.write("a", None)
    mariadb.server.stop()
    with pytest.raises(ExternalSystemError, match=r"failed 4 times.*Can't connect"):
        writer.flush(end_of_input=False)
    assert waits == [1, 2, 4], "twice as long each time"
    mariadb.server.start()
    writer.flush(end_of_input=False)
    assert values(mariadb) == ["a"]
    writer.close()


def test_a_deadlock_is_tried_again(mariadb: Database, surroundings: Surroundings) -> None:
    mariadb.execute(COUNTS, "INSERT INTO counts VALUES ('a', 0), ('b', 0)")
    sink = builder(mariadb, retry_backoff=0).set_table("counts", "word", "total").set_key_columns("word").build()
    writer = sink.create_writer(surroundings.context())
    other = mariadb.server.connect(mariadb.name, autocommit=False)
    cursor = other.cursor()
    cursor.execute("UPDATE counts SET total = 100 WHERE word = 'b'")
    cursor.execute("INSERT INTO counts VALUES ('x', 1), ('y', 1), ('z', 1)")  # the one with fewer changes is given up
    writer.write_run([("a", 1), ("b", 1)], None)
    sending = threading.Thread(target=lambda: writer.flush(end_of_input=False))
    sending.start()
    while not mariadb.rows("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"):
        time.sleep(0.2)  # the server renews what it shows there only if nobody has asked for a tenth of a second
    cursor.execute("UPDATE counts SET total = 100 WHERE word = 'a'")
    other.commit()
    sending.join(30)
    other.close()
    assert mariadb.rows("SELECT * FROM counts WHERE word IN ('a', 'b') ORDER BY word") == [("a", 1), ("b", 1)]
    writer.close()


def test_what_the_server_refuses_is_explained(mariadb: Database, surroundings: Surroundings) -> None:
    writer = builder(mariadb).set_table("nowhere", "a").build().create_writer(surroundings.context())
    writer.write(1, None)
    with pytest.raises(ExternalSystemError, match=r"nowhere.*doesn't exist[\s\S]*INSERT INTO `nowhere`"):
        writer.flush(end_of_input=False)
    writer.close()


def test_nothing_of_a_refused_batch_is_written(mariadb: Database, surroundings: Surroundings) -> None:
    mariadb.execute(COUNTS, "INSERT INTO counts VALUES ('b', 1)")
    sink = builder(mariadb).set_statement("INSERT INTO counts SELECT ?, ?").build()
    writer = sink.create_writer(surroundings.context())
    writer.write_run([("a", 1), ("b", 1)], None)
    with pytest.raises(ExternalSystemError, match="Duplicate entry"):
        writer.flush(end_of_input=False)
    assert mariadb.rows("SELECT * FROM counts") == [("b", 1)]
    writer.close()


@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED"])
def test_connections_are_encrypted_as_asked(mariadb: Database, mode: str) -> None:
    connection = MySqlConnection(MySqlConnectionOptions.from_url(mariadb.url, ssl_mode=mode, retries=0))
    if mode == "PREFERRED":
        connection.open()
        assert connection.query("SELECT 1") == [(1,)]
    else:
        with pytest.raises(Exception, match="SSL"):  # the server of the tests has no certificate
            connection.open()
    connection.close()
