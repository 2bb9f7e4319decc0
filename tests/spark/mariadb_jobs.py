"""The program's own two-phase sink over MariaDB, and an input that comes with time. Workers import this by its name."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import pymysql

from penstock import RuntimeContext, SinkContext, TwoPhaseCommitSinkFunction
from penstock.connectors.mysql import MySqlConnectionOptions
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

__all__ = ["MariaDbTransactions", "Produced"]

UNKNOWN_BRANCH = 1397


class MariaDbTransactions(TwoPhaseCommitSinkFunction[int, str, None]):
    """Inserts values into a table, exactly once: SQL-03, SQL-04.

    A transaction is the name of an XA branch, by which any process can commit it or roll it back. While it is open it
    belongs to one connection, with which it goes.
    """

    def __init__(self, url: str, fail_at: int | None) -> None:
        super().__init__()
        self.options = MySqlConnectionOptions.from_url(url)
        self.fail_at = fail_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.connections: dict[str, Any] = {}

    def begin_transaction(self) -> str:
        transaction = uuid.uuid4().hex
        connection = self.connections[transaction] = self._connect()
        connection.cursor().execute(f"XA START '{transaction}'")
        return transaction

    def invoke(self, transaction: str, value: int, context: SinkContext) -> None:  # type: ignore[override]
        cursor = self.connections[transaction].cursor()
        cursor.execute("INSERT INTO t_test (value, insert_time) VALUES (%s, NOW())", (value,))
        if value == self.fail_at:
            message = f"{value} is a bad number"
            raise ValueError(message)

    def pre_commit(self, transaction: str) -> None:
        connection = self.connections.pop(transaction)
        connection.cursor().execute(f"XA END '{transaction}'")
        connection.cursor().execute(f"XA PREPARE '{transaction}'")
        connection.close()

    def commit(self, transaction: str) -> None:
        self._finish(f"XA COMMIT '{transaction}'")

    def abort(self, transaction: str) -> None:
        if transaction in self.connections:
            self.connections.pop(transaction).close()
        else:
            self._finish(f"XA ROLLBACK '{transaction}'")

    def _finish(self, statement: str) -> None:
        connection = self._connect()
        try:
            connection.cursor().execute(statement)
        except pymysql.OperationalError as error:
            if error.args[0] != UNKNOWN_BRANCH:  # otherwise it was done before
                raise
        finally:
            connection.close()

    def _connect(self) -> Any:
        return pymysql.connect(
            host=self.options.host,
            port=self.options.port,
            user=self.options.user,
            password=self.options.password,
            database=self.options.database,
            autocommit=True,  # outside of branches; a branch is committed by its name and by nothing else
            ssl_disabled=True,
        )


class Produced(Source[int]):
    """The numbers 1 to 20, each there from its time on: as a topic has them into which one is put every so often."""

    boundedness = Boundedness.BOUNDED
    is_parallel = False

    def __init__(self, clock: Path, period: float, count: int = 20) -> None:
        self.clock = clock
        self.period = period
        self.count = count

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit("topic_in")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        if not self.clock.exists():
            self.clock.write_text(str(time.time()))
        return _Consumer(self, position or 0, float(self.clock.read_text()))


class _Consumer(SplitReader[int]):
    wait_millis = 10

    def __init__(self, source: Produced, offset: int, start: float) -> None:
        self.source = source
        self.offset = offset
        self.start = start

    def read(self, limit: int) -> tuple[list[int], list[int] | None] | None:
        if self.offset == self.source.count:
            return None
        there = min(int((time.time() - self.start) / self.source.period), self.source.count)
        values = list(range(self.offset + 1, max(there, self.offset) + 1))
        self.offset += len(values)
        return values, None

    def position(self) -> int:
        return self.offset
