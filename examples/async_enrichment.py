"""Looks users up in a database, many at a time, without waiting for one before asking for the next.

python examples/async_enrichment.py

The database is a file of SQLite. A lookup that fails because the database is locked is tried again, one that takes too
long is answered with "unknown".
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path

from penstock import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
    Time,
    exception_type_predicate,
)

USERS = [("user_1", "张三", 10), ("user_2", "李四", 20), ("user_3", "王五", 30)]
EVENTS = [("user_3", "browse"), ("user_2", "click"), ("user_9", "click"), ("user_1", "login"), ("user_3", "buy")]


def create_database(path: Path, users: Iterable[tuple[str, str, int]]) -> None:
    """Write a database of users."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT, age INTEGER)")
        connection.executemany("INSERT INTO users VALUES (?, ?, ?)", users)
    connection.close()


class LookUp(AsyncFunction[tuple[str, str], str]):
    """Adds name and age to an event."""

    def __init__(self, database: Path) -> None:
        self.database = database

    def open(self, runtime_context: RuntimeContext) -> None:
        """Connect once per subtask: connections do not travel to other processes."""
        self.connection = sqlite3.connect(self.database, check_same_thread=False)

    async def async_invoke(self, value: tuple[str, str]) -> list[str]:
        """Ask the database in a thread, so that other requests go on meanwhile."""
        user, event = value
        found = await asyncio.to_thread(self._find, user)
        return [f"{user} {event}: {found}"]

    def timeout(self, value: tuple[str, str]) -> list[str]:
        """Answer for a lookup that took too long."""
        return [f"{value[0]} {value[1]}: unknown"]

    def close(self) -> None:
        """Give the connection back."""
        self.connection.close()

    def _find(self, user: str) -> str:
        row = self.connection.execute("SELECT name, age FROM users WHERE id = ?", (user,)).fetchone()
        return "no such user" if row is None else f"{row[0]}, {row[1]}"


def is_locked(error: Exception) -> bool:
    """Tell whether another try may help."""
    return exception_type_predicate(error, sqlite3.OperationalError)


def main() -> None:
    """Build the job and run it."""
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "users.db"
        create_database(database, USERS)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        events = env.from_collection(EVENTS).rebalance().map(lambda event: event)
        strategy: AsyncRetryStrategy[str] = AsyncRetryStrategy.fixed_delay(3, 100, None, is_locked)
        looked_up = AsyncDataStream.unordered_wait_with_retry(
            events, LookUp(database), Time.seconds(10), strategy, capacity=20
        )
        looked_up.print()
        env.execute("lookup")


if __name__ == "__main__":
    main()
