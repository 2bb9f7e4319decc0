"""Adds to what users do who they are, from a table of MySQL or MariaDB that may change at any time.

    python examples/user_enrichment.py
    MYSQL_PASSWORD=secret python examples/user_enrichment.py --host localhost --user shop --database shop --create

The table ``user_info`` is read every five seconds, as a whole, and what was read is broadcast: in every subtask it
replaces what the broadcast state held. So a changed row counts for events from the next reading on. Events that come
before the first reading, or from users who are not in the table, are dropped.

Without ``--host`` the table is one of SQLite in a temporary file, so that the program runs without a database server.
With ``--create`` the table is made, and filled with four users, where it is missing.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from penstock import (
    BroadcastProcessFunction,
    DataStream,
    MapStateDescriptor,
    RichSourceFunction,
    RuntimeContext,
    SourceFunction,
    StreamExecutionEnvironment,
)

Connect = Callable[[], Any]
Users = dict[str, tuple[str, int]]
Event = tuple[str, str, str, int]

CREATE = "CREATE TABLE IF NOT EXISTS user_info (userID VARCHAR(20) PRIMARY KEY, userName VARCHAR(10), userAge INT)"
COUNT = "SELECT count(*) FROM user_info"
INSERT = """
    INSERT INTO user_info
    VALUES ('user_1', '张三', 10), ('user_2', '李四', 20), ('user_3', '王五', 30), ('user_4', '赵六', 40)
"""
SELECT = "SELECT userID, userName, userAge FROM user_info"

CONFIG: MapStateDescriptor[None, Users] = MapStateDescriptor("config")


class UserTable(RichSourceFunction[Users]):
    """Reads the table again and again and emits all of it."""

    def __init__(self, connect: Connect, *, every: float, seconds: float) -> None:
        self.connect = connect
        self.every = every
        self.seconds = seconds

    def open(self, runtime_context: RuntimeContext) -> None:
        """Connect here: connections do not travel to other processes."""
        self.connection = self.connect()
        self.cancelled = threading.Event()

    def run(self, ctx: SourceFunction.SourceContext[Users]) -> None:
        """Read, emit, wait."""
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            with closing(self.connection.cursor()) as cursor:
                cursor.execute(SELECT)
                ctx.collect({user: (name, age) for user, name, age in cursor.fetchall()})
            if self.cancelled.wait(min(self.every, max(0, deadline - time.monotonic()))):
                return

    def cancel(self) -> None:
        """End the loop in ``run``."""
        self.cancelled.set()

    def close(self) -> None:
        """Give the connection back."""
        self.connection.close()


class Events(SourceFunction[Event]):
    """Makes up what users do: who, when, what, with which product."""

    def __init__(self, *, every: float, seconds: float) -> None:
        self.every = every
        self.seconds = seconds

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare to be cancelled."""
        self.cancelled = threading.Event()

    def run(self, ctx: SourceFunction.SourceContext[Event]) -> None:
        """Emit an event, wait."""
        chance = random.Random(4)
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline and not self.cancelled.wait(self.every):
            user, kind, product = chance.randint(1, 4), chance.randrange(3), chance.randrange(4)
            ctx.collect((f"user_{user}", f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}", f"type_{kind}", product))

    def cancel(self) -> None:
        """End the loop in ``run``."""
        self.cancelled.set()


class Enrich(BroadcastProcessFunction[Event, Users, tuple[Any, ...]]):
    """Adds name and age to an event."""

    def process_element(self, value: Event, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[tuple[Any, ...]]:
        """Look the user up in what was read last."""
        users: Users = ctx.get_broadcast_state(CONFIG).get(None) or {}
        if value[0] in users:
            yield *value, *users[value[0]]

    def process_broadcast_element(self, value: Users, ctx: BroadcastProcessFunction.Context) -> None:
        """Replace what was read before."""
        config = ctx.get_broadcast_state(CONFIG)
        config.clear()
        config.put(None, value)


def enriched(
    env: StreamExecutionEnvironment,
    connect: Connect,
    *,
    seconds: float,
    read_every: float = 5,
    every: float = 0.5,
) -> DataStream[tuple[Any, ...]]:
    """Build the job: events with the name and the age of their users."""
    users = env.add_source(UserTable(connect, every=read_every, seconds=seconds), "user_info")
    events = env.add_source(Events(every=every, seconds=seconds), "events")
    return events.connect(users.broadcast(CONFIG)).process(Enrich())


def create_table(connect: Connect) -> None:
    """Make the table and fill it, where it is missing."""
    with closing(connect()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(CREATE)
        cursor.execute(COUNT)
        if cursor.fetchone()[0] == 0:
            cursor.execute(INSERT)
        connection.commit()


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
        # Else every reading would see the table as it was at the first one.
        autocommit=True,
    )


def run(connect: Connect, options: argparse.Namespace) -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    enriched(env, connect, seconds=options.seconds).print()
    env.execute("user enrichment")


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run the job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", help="of the database server; without it, a table of SQLite is used")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--user", default="root", help="the password is taken from the variable MYSQL_PASSWORD")
    parser.add_argument("--database", default="test")
    parser.add_argument("--create", action="store_true", help="make the table user_info where it is missing")
    parser.add_argument("--seconds", type=float, default=15, help="how long events are made up (15)")
    options = parser.parse_args(arguments)
    if options.host is not None:
        connect = mysql(options)
        if options.create:
            create_table(connect)
        run(connect, options)
        return
    print("No --host was given: the users are in a table of SQLite in a temporary file.")
    with tempfile.TemporaryDirectory() as directory:
        connect = partial(sqlite3.connect, Path(directory) / "users.db", check_same_thread=False)
        create_table(connect)
        run(connect, options)


if __name__ == "__main__":
    main()
