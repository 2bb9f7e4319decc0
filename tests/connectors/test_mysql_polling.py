"""The source that reads a table again and again."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Row
from penstock.connectors.mysql import MySqlPollingSource, MySqlPollingSourceBuilder
from penstock.errors import ExternalSystemError, ProgramError
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, SplitReader
from tests.servers.mariadb import Database

USERS = [("user_1", "a", 10), ("user_2", "b", 20), ("user_3", "c", 15), ("user_4", "d", 30)]


class Reading:
    """A reader and its clock."""

    def __init__(self, source: MySqlPollingSource, position: Any = None, start: int = 1_000) -> None:
        self.time = start
        (split,) = source.create_splits(1)
        context = ReaderContext(0, 1, now=lambda: self.time)
        self.reader: SplitReader[Any] = source.open_split(split, position, context)

    def read(self, limit: int = 1000) -> list[Any]:
        answer = self.reader.read(limit)
        assert answer is not None
        return answer[0]


@pytest.fixture
def users(mariadb: Database) -> Database:
    """SQL-02."""
    mariadb.execute("CREATE TABLE user_info (userID VARCHAR(20) PRIMARY KEY, userName VARCHAR(10), userAge INT)")
    mariadb.execute(*(f"INSERT INTO user_info VALUES {user}" for user in USERS))
    return mariadb


@pytest.fixture
def log(mariadb: Database) -> Database:
    mariadb.execute("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, line VARCHAR(20), at INT)")
    mariadb.execute("INSERT INTO log (line, at) VALUES ('a', 1), ('b', 1), ('c', 2)")
    return mariadb


def builder(database: Database, **options: Any) -> MySqlPollingSourceBuilder:
    return MySqlPollingSource.builder().set_url(database.url, **options)


def user(id: str, name: str, age: int) -> Row:
    return Row(userID=id, userName=name, userAge=age)


def test_src_11_the_whole_table_every_5_seconds_as_one_map(users: Database) -> None:
    source = builder(users).set_table("user_info").set_map_key("userID").build()
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    reading = Reading(source)
    everyone = {each[0]: user(*each) for each in USERS}
    assert reading.read() == [everyone]
    reading.time += 4_999
    assert reading.read() == []
    assert reading.reader.wait_millis == 1
    users.execute(
        "UPDATE user_info SET userAge = 11 WHERE userID = 'user_1'", "DELETE FROM user_info WHERE userAge = 30"
    )
    reading.time += 1
    changed = {**everyone, "user_1": user("user_1", "a", 11)}
    del changed["user_4"]
    assert reading.read() == [changed]
    reading.reader.close()


def test_an_empty_table_is_an_empty_map(users: Database) -> None:
    users.execute("DELETE FROM user_info")
    reading = Reading(builder(users).set_table("user_info").set_map_key("userID").build())
    assert reading.read() == [{}]
    reading.reader.close()


def test_rows_of_a_query(users: Database) -> None:
    query = "SELECT userName, userAge * 2 AS twice FROM user_info WHERE userAge < 20 ORDER BY userAge;"
    reading = Reading(builder(users).set_query(query).set_interval(200).build())
    rows = [Row(userName="a", twice=20), Row(userName="c", twice=30)]
    assert reading.read() == rows
    reading.time += 200
    assert reading.read() == rows
    reading.reader.close()


def test_a_read_that_was_emitted_in_part_comes_again_as_a_whole(users: Database) -> None:
    source = builder(users).set_table("user_info").build()
    reading = Reading(source)
    assert len(reading.read(3)) == 3
    in_the_middle = reading.reader.position()
    assert len(reading.read(3)) == 1
    behind = reading.reader.position()
    reading.reader.close()
    assert behind == 6_000
    again = Reading(source, in_the_middle, start=2_000)
    assert len(again.read()) == 4
    again.reader.close()
    later = Reading(source, behind, start=5_999)
    assert later.read() == []
    later.time = 6_000
    assert len(later.read()) == 4
    later.reader.close()


def test_only_growing_columns_can_be_read_again(users: Database) -> None:
    assert not builder(users).set_table("user_info").build().is_replayable
    assert builder(users).set_table("log").set_growing_columns("id").build().is_replayable


def test_what_has_come_since(log: Database) -> None:
    reading = Reading(builder(log).set_table("log").set_growing_columns("id").build())
    assert [row.line for row in reading.read()] == ["a", "b", "c"]
    reading.time += 5_000
    assert reading.read() == []
    log.execute("INSERT INTO log (line) VALUES ('d'), ('e')")
    assert reading.read() == [], "it is not time yet"
    reading.time += 5_000
    assert [row.line for row in reading.read()] == ["d", "e"]
    reading.reader.close()


def test_a_full_answer_is_followed_at_once(log: Database) -> None:
    reading = Reading(builder(log).set_table("log").set_growing_columns("id").build())
    assert [row.line for row in reading.read(2)] == ["a", "b"]
    assert [row.line for row in reading.read(2)] == ["c"]
    assert reading.read(2) == []
    reading.reader.close()


def test_reading_goes_on_behind_the_last_row(log: Database) -> None:
    source = builder(log).set_table("log").set_growing_columns("id").build()
    reading = Reading(source)
    reading.read(2)
    position = reading.reader.position()
    reading.reader.close()
    again = Reading(source, position)
    assert [row.line for row in again.read()] == ["c"]
    again.reader.close()


def test_columns_that_are_unique_together(log: Database) -> None:
    source = builder(log).set_query("SELECT * FROM log").set_growing_columns("at", "id").build()
    reading = Reading(source)
    assert [row.line for row in reading.read(1)] == ["a"]
    log.execute("INSERT INTO log (line, at) VALUES ('d', 1), ('e', 0)")
    assert [row.line for row in reading.read(10)] == ["b", "d", "c"], "e came too late"
    reading.reader.close()


def test_a_start_in_the_middle(log: Database) -> None:
    reading = Reading(builder(log).set_table("log").set_growing_columns("id").set_start_after(2).build())
    assert [row.line for row in reading.read()] == ["c"]
    reading.reader.close()


def test_an_outage_is_waited_for_without_blocking(log: Database) -> None:
    source = builder(log, retries=2, retry_backoff=100).set_table("log").set_growing_columns("id").build()
    reading = Reading(source)
    reading.read()
    log.server.kill()
    reading.time += 5_000
    assert reading.read() == []
    assert reading.reader.wait_millis == 100
    reading.time += 100
    assert reading.read() == []
    assert reading.reader.wait_millis == 200
    log.server.start()
    log.execute("INSERT INTO log (line) VALUES ('d')")
    reading.time += 200
    assert [row.line for row in reading.read()] == ["d"]
    log.server.kill()
    for _ in range(2):
        reading.time += 5_000
        assert reading.read() == []
    reading.time += 5_000
    with pytest.raises(ExternalSystemError, match="cannot be read"):
        reading.read()
    log.server.start()
    reading.reader.close()


def test_columns_that_are_not_there_are_named(users: Database) -> None:
    reading = Reading(builder(users).set_table("user_info").set_map_key("id").build())
    with pytest.raises(ProgramError, match="no column id, only userID, userName, userAge"):
        reading.read()
    reading.reader.close()
