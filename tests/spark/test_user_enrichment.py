"""The enrichment of events from a table of a real MariaDB, on Spark."""

from __future__ import annotations

from argparse import Namespace
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest

from examples import async_enrichment, user_enrichment
from penstock import StreamExecutionEnvironment
from tests.servers.mariadb import HOST, PASSWORD, USER, Database
from tests.unit.cases.join_examples import EXPECTED

pytestmark = pytest.mark.timeout(300)

USERS = {"user_1": ("张三", 10), "user_2": ("李四", 20), "user_3": ("王五", 30), "user_4": ("赵六", 40)}


@pytest.fixture
def options(mariadb: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the commands are told which database to use."""
    monkeypatch.setenv("MYSQL_PASSWORD", PASSWORD)
    return ["--host", HOST, "--port", str(mariadb.server.port), "--user", USER, "--database", mariadb.name]


@pytest.fixture
def connect(mariadb: Database, options: list[str]) -> user_enrichment.Connect:
    """The example's own way to connect."""
    return user_enrichment.mysql(Namespace(host=HOST, port=mariadb.server.port, user=USER, database=mariadb.name))


def until(records: Iterator[Any], user: str, age: int) -> None:
    """Read on until an event shows that age."""
    assert any(record[0] == user and record[-1] == age for record in records), "the job has ended"


def test_w_74_w_76_a_changed_table_counts_while_the_job_runs(
    mariadb: Database, connect: user_enrichment.Connect, env: StreamExecutionEnvironment
) -> None:
    user_enrichment.create_table(connect)
    env.set_parallelism(1)  # in one subtask, an event that shows a reading comes after all that showed an older one
    stream = user_enrichment.enriched(env, connect, seconds=240, read_every=0.2, every=0.02)
    records: Any = stream.execute_and_collect("enrichment")
    with records:
        until(records, "user_3", 30)
        mariadb.execute("UPDATE user_info SET userAge = 31 WHERE userID = 'user_3'")
        until(records, "user_3", 31)
        mariadb.execute("DELETE FROM user_info WHERE userID = 'user_2'")
        mariadb.execute("UPDATE user_info SET userAge = 32 WHERE userID = 'user_3'")
        until(records, "user_3", 32)
        later = [next(records)[0] for _ in range(40)]
    assert set(later) == {"user_1", "user_3", "user_4"}


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.partition("> ")[2] for line in capsys.readouterr().out.splitlines()]


def test_w_74_the_command_reads_a_database_server(
    mariadb: Database, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    user_enrichment.main([*options, "--create", "--seconds", "3"])
    found = [literal_eval(line) for line in printed(capsys)]
    assert found
    assert all(USERS[user] == (name, age) for user, _, _, _, name, age in found)
    assert mariadb.rows("SELECT count(*) FROM user_info") == [(4,)]


def test_without_a_database_server_the_command_says_what_it_uses(capsys: pytest.CaptureFixture[str]) -> None:
    user_enrichment.main(["--seconds", "2"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert "SQLite" in first
    found = [literal_eval(line.partition("> ")[2]) for line in lines]
    assert found
    assert all(USERS[user] == (name, age) for user, _, _, _, name, age in found)


def test_asynchronous_lookups_ask_a_database_server(
    connect: user_enrichment.Connect, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    user_enrichment.create_table(connect)
    async_enrichment.main(options)
    assert sorted(printed(capsys)) == sorted(EXPECTED["async_enrichment"])
