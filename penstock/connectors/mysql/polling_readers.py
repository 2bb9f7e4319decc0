"""How a polled query is read: whole every time, or what has come since."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.connection import MySqlConnection, import_pymysql, is_transient
from penstock.connectors.mysql.statement import quote
from penstock.errors import ExternalSystemError, ProgramError
from penstock.vocabulary.sources.protocol import SplitReader
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
    from penstock.vocabulary.sources.protocol import ReaderContext

__all__ = ["GrowthReader", "PollingSettings", "WholeReader"]


@dataclass(frozen=True, kw_only=True)
class PollingSettings:
    """What is asked, how often, and what becomes of the answer."""

    connection: MySqlConnectionOptions
    query: str
    interval: int
    map_key: str | None = None
    growing_columns: tuple[str, ...] = ()
    start_after: tuple[Any, ...] | None = None


class _PollingReader(SplitReader[Any]):
    """Asks when it is time, and again after failures that may pass, without ever waiting itself."""

    def __init__(self, settings: PollingSettings, context: ReaderContext) -> None:
        self._settings = settings
        self._context = context
        self._connection = MySqlConnection(settings.connection)
        self._next = 0
        self._failures = 0

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        """Return rows that are there, or ask for more if it is time."""
        now = self._context.elapsed()
        if now >= self._next:
            try:
                self._connection.open()
                records = self._ask(now, limit)
                self._failures = 0
            except import_pymysql().err.MySQLError as error:
                self._on_failure(error, now)
                records = []
        else:
            records = []
        self.wait_millis = max(1, self._next - now)
        return records, None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @abstractmethod
    def _ask(self, now: int, limit: int) -> list[Any]:
        """Read from the database and say when the next time is."""

    def _rows(self, query: str) -> list[Row]:
        names, rows = self._connection.named_query(query)
        missing = {*self._settings.growing_columns, *filter(None, [self._settings.map_key])} - set(names)
        if missing:
            message = f"The result has no column {', '.join(sorted(missing))}, only {', '.join(names)}: {query}"
            raise ProgramError(message)
        make = Row(*names)
        return [make(*row) for row in rows]

    def _on_failure(self, error: Exception, now: int) -> None:
        self._connection.close()
        options = self._settings.connection
        self._failures += 1
        if not is_transient(error) or self._failures > options.retries:
            message = f"The database at {options.place} cannot be read: {error}.\n  query      {self._settings.query}"
            raise ExternalSystemError(message) from error
        self._next = now + (options.retry_backoff << (self._failures - 1))


class WholeReader(_PollingReader):
    """Emits everything there is with every read; its position is the time of day of the next read."""

    def __init__(self, settings: PollingSettings, position: Any, context: ReaderContext) -> None:
        super().__init__(settings, context)
        left = 0 if position is None else min(position - context.now(), settings.interval)
        self._next = self._begun = context.elapsed() + left
        self._left: list[Any] = []

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        """Return what is left of the last read, or read again if it is time."""
        if not self._left:
            return super().read(limit)
        records, self._left = self._left[:limit], self._left[limit:]
        return records, None

    def position(self) -> int:
        """Return when to read next; while a read is emitted, the time of that one, so that all of it comes again."""
        left = (self._begun if self._left else self._next) - self._context.elapsed()
        return self._context.now() + left

    def _ask(self, now: int, limit: int) -> list[Any]:
        rows = self._rows(self._settings.query)
        self._begun, self._next = now, now + self._settings.interval
        key = self._settings.map_key
        if key is not None:
            return [{row[key]: row for row in rows}]
        self._left = rows[limit:]
        return rows[:limit]


class GrowthReader(_PollingReader):
    """Emits rows in the order of columns that grow; its position is where it stands in that order."""

    def __init__(self, settings: PollingSettings, position: Any, context: ReaderContext) -> None:
        super().__init__(settings, context)
        self._last: tuple[Any, ...] | None = settings.start_after if position is None else position

    def position(self) -> tuple[Any, ...] | None:
        """Return the values of the last row that was emitted."""
        return self._last

    def _ask(self, now: int, limit: int) -> list[Any]:
        rows = self._rows(self._query(limit))
        if rows:
            self._last = tuple(rows[-1][column] for column in self._settings.growing_columns)
        # As many as asked for: there may be more.
        self._next = now if len(rows) == limit else now + self._settings.interval
        return rows

    def _query(self, limit: int) -> str:
        columns = ", ".join(map(quote, self._settings.growing_columns))
        behind = ""
        if self._last is not None:
            values = ", ".join(map(self._connection.escape, self._last))
            behind = f" WHERE ({columns}) > ({values})"
        return f"SELECT * FROM ({self._settings.query}) AS polled{behind} ORDER BY {columns} LIMIT {limit}"
