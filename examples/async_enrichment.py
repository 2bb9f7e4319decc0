"""Looks users up in a database, many at a time, without waiting for one before asking for the next.

    python examples/async_enrichment.py
    MYSQL_PASSWORD=secret python examples/async_enrichment.py --host localhost --user shop --database shop

The users are in the table ``user_info`` of a MySQL or MariaDB server; without ``--host`` they are in a file of SQLite.
A lookup that fails because the database is locked or out of reach is tried again, one that takes too long is answered
with "unknown".
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from penstock import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
    Time,
)

Connect = Callable[[], Any]

USERS = [("user_1", "张三", 10), ("user_2", "李四", 20), ("user_3", "王五", 30)]
EVENTS = [("user_3", "browse"), ("user_2", "click"), ("user_9", "click"), ("user_1", "login"), ("user_3", "buy")]


CONNECTIONS = 4
"""As many lookups of a subtask are under way at a time; a connection serves one of them."""


def create_database(path: Path, users: Iterable[tuple[str, str, int]]) -> None:
    """Write a database of users."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE user_info (userID TEXT PRIMARY KEY, userName TEXT, userAge INTEGER)")
        connection.executemany("INSERT INTO user_info VALUES (?, ?, ?)", users)


class LookUp(AsyncFunction[tuple[str, str], str]):
    """Adds name and age to an event; ``place`` is how the database writes the place of a value in a query."""

    def __init__(self, connect: Connect, place: str) -> None:
        self.connect = connect
        self.query = f"SELECT userName, userAge FROM user_info WHERE userID = {place}"

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare connections, which are made when they are needed: they do not travel to other processes."""
        self.connections: SimpleQueue[Any] = SimpleQueue()
        for _ in range(CONNECTIONS):
            self.connections.put(None)

    async def async_invoke(self, value: tuple[str, str]) -> list[str]:
        """Ask the database in a thread, so that other requests go on meanwhile."""
        user, event = value
        found = await asyncio.to_thread(self._find, user)
        return [f"{user} {event}: {found}"]

    def timeout(self, value: tuple[str, str]) -> list[str]:
        """Answer for a lookup that took too long."""
        return [f"{value[0]} {value[1]}: unknown"]

    def close(self) -> None:
        """Give the connections back."""
        while not self.connections.empty():
            connection = self.connections.get()
            if connection is not None:
                connection.close()

    def _find(self, user: str) -> str:
        connection = self.connections.get()
        try:
            connection = connection or self.connect()
            with closing(connection.cursor()) as cursor:
                cursor.execute(self.query, (user,))
                row = cursor.fetchone()
        except Exception:
            connection = None  # it may be broken, so the next lookup makes a new one
            raise
        finally:
            self.connections.put(connection)
        return "no such user" if row is None else f"{row[0]}, {row[1]}"


def is_out_of_reach(error: Exception) -> bool:
    """Tell whether another try may help: both databases call that an operational error."""
    return type(error).__name__ == "OperationalError"


def run(look_up: LookUp) -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    events = env.from_collection(EVENTS).rebalance().map(lambda event: event)
    strategy: AsyncRetryStrategy[str] = AsyncRetryStrategy.fixed_delay(3, 100, None, is_out_of_reach)
    looked_up = AsyncDataStream.unordered_wait_with_retry(events, look_up, Time.seconds(10), strategy, capacity=20)
    looked_up.print()
    env.execute("lookup")


def mysql(options: argparse.Namespace) -> Connect:
    """Return how to connect to the server that the command line names."""
    import pymysql

    return partial(
        pymysql.connect,
        host=options.host,
        port=options.port,
        user=options.user,
        password=os.environ.get("MYSQL_PASSWORD", ""),
        database=options.database,
        autocommit=True,
    )


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run the job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", help="of the database server; without it, a table of SQLite is used")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--user", default="root", help="the password is taken from the variable MYSQL_PASSWORD")
    parser.add_argument("--database", default="test")
    options = parser.parse_args(arguments)
    if options.host is not None:
        run(LookUp(mysql(options), "%s"))
        return
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "users.db"
        create_database(database, USERS)
        run(LookUp(partial(sqlite3.connect, database, check_same_thread=False), "?"))


if __name__ == "__main__":
    main()
