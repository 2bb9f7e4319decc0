"""The source that asks a database the same question again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.mysql.polling_readers import GrowthReader, PollingSettings, WholeReader
from penstock.connectors.mysql.statement import quote
from penstock.errors import ProgramError
from penstock.vocabulary.sources.protocol import Boundedness, Source, SourceSplit
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.vocabulary.sources.protocol import ReaderContext, SplitReader
    from penstock.vocabulary.time.durations import TimeLength

__all__ = [
    "MySqlPollingSource",
    "MySqlPollingSourceBuilder",
]


class MySqlPollingSource(Source[Any]):
    """Reads a table or query of MySQL or MariaDB every few seconds; made by ``MySqlPollingSource.builder()``.

    Whole: every read emits everything there is, as rows or as one mapping of a key to its row. The position is the time
    of the next read: after a failure the table is read as it is then, and a read that was emitted in part is made
    again as a whole. What stood in the table between two reads is never seen, so the source is not replayable.

    By growing columns: every read emits the rows that have come since. The position is the last value that was emitted:
    after a failure reading goes on right behind it, and every row is emitted exactly once. That holds if the columns
    taken together are unique, and if rows appear in the order of their values; a transaction that commits a lower value
    late is missed.
    """

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED
    is_parallel = False

    def __init__(self, settings: PollingSettings) -> None:
        self.settings = settings
        self.is_replayable = bool(settings.growing_columns)

    @staticmethod
    def builder() -> MySqlPollingSourceBuilder:
        """Start to describe a source."""
        return MySqlPollingSourceBuilder()

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return the one split there is."""
        return [SourceSplit("query")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        """Start asking."""
        reader = GrowthReader if self.settings.growing_columns else WholeReader
        return reader(self.settings, position, context)


class MySqlPollingSourceBuilder:
    """Collects what a ``MySqlPollingSource`` needs: a connection, and a table or a query.

    Example:
        >>> source = (
        ...     MySqlPollingSource.builder()
        ...     .set_url("mysql://clerk:secret@localhost/shop")
        ...     .set_table("user_info")
        ...     .set_interval(5000)
        ...     .set_map_key("userID")
        ...     .build()
        ... )
        >>> source.settings.query
        'SELECT * FROM `user_info`'
    """

    def __init__(self) -> None:
        self._connection: MySqlConnectionOptions | None = None
        self._query: str | None = None
        self._interval = 5_000
        self._map_key: str | None = None
        self._growing_columns: tuple[str, ...] = ()
        self._start_after: tuple[Any, ...] | None = None

    def set_connection_options(self, options: MySqlConnectionOptions) -> Self:
        """Say where the database is."""
        self._connection = options
        return self

    def set_url(self, url: str, **options: Any) -> Self:
        """Say where the database is, by its address and options of ``MySqlConnectionOptions``."""
        return self.set_connection_options(MySqlConnectionOptions.from_url(url, **options))

    def set_table(self, table: str) -> Self:
        """Read all columns of a table."""
        return self.set_query(f"SELECT * FROM {quote(table)}")

    def set_query(self, sql: str) -> Self:
        """Read the result of a query."""
        self._query = sql.rstrip("; \n")
        return self

    def set_interval(self, interval: TimeLength) -> Self:
        """Say how long after a read the next one begins; 5 s unless said."""
        self._interval = to_millis(interval)
        return self

    def set_map_key(self, column: str) -> Self:
        """Emit one mapping per read: the values of this column, each with its row."""
        self._map_key = column
        return self

    def set_growing_columns(self, *columns: str) -> Self:
        """Emit only rows whose values in these columns, the first one first, are above all that were emitted."""
        self._growing_columns = columns
        return self

    def set_start_after(self, *values: Any) -> Self:
        """Begin behind these values of the growing columns instead of with the first row."""
        self._start_after = values
        return self

    def build(self) -> MySqlPollingSource:
        """Return the source."""
        problem = self._problem()
        if problem is not None:
            raise ProgramError(problem)
        assert self._connection is not None
        assert self._query is not None
        settings = PollingSettings(
            connection=self._connection,
            query=self._query,
            interval=self._interval,
            map_key=self._map_key,
            growing_columns=self._growing_columns,
            start_after=self._start_after,
        )
        return MySqlPollingSource(settings)

    def _problem(self) -> str | None:
        if self._connection is None:
            return "Where is the database? Call set_url or set_connection_options."
        if self._query is None:
            return "What is to be read? Call set_table or set_query."
        if self._interval <= 0:
            return f"The interval between two reads must be positive: {self._interval} ms."
        if self._map_key is not None and self._growing_columns:
            return "A mapping per read shows everything there is, growing columns show what is new: set one of them."
        if self._start_after is not None and len(self._start_after) != len(self._growing_columns):
            return f"set_start_after needs a value for each of the growing columns: {list(self._growing_columns)}."
        return None
