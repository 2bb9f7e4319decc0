"""The JDBC sink of PyFlink and its options, for programs that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.mysql.sink import MySqlSink
from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
from penstock.connectors.mysql.statement import SqlStatement
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import DeliveryGuarantee
from penstock.vocabulary.types.composite import RowTypeInfo

if TYPE_CHECKING:
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcConnectionOptions:
    """Where a database is, by a ``jdbc:mysql://`` or ``jdbc:mariadb://`` address."""

    def __init__(self, url: str, driver_name: str | None, user_name: str | None, password: str | None) -> None:
        self._url = url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password

    def get_db_url(self) -> str:
        """Return the address."""
        return self._url

    def get_driver_name(self) -> str | None:
        """Return the name of the Java driver."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """Return the user."""
        return self._user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self._password

    def connection(self, retries: int) -> MySqlConnectionOptions:
        """Return the same in Penstock's words."""
        named = {"user": self._user_name, "password": self._password}
        given = {name: value for name, value in named.items() if value is not None}
        return MySqlConnectionOptions.from_url(self._url, **given, retries=retries)

    class JdbcConnectionOptionsBuilder:
        """Collects the parts of an address."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the address, such as ``jdbc:mysql://localhost:3306/shop``."""
            self._url = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Name the Java driver; drivers of other databases than MySQL and MariaDB are refused."""
            if not any(name in driver_name.lower() for name in ("mysql", "mariadb")):
                message = f"The driver {driver_name!r} is for a database that Penstock has no connector for."
                raise ProgramError(message)
            self._driver_name = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            self._user_name = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options."""
            if self._url is None:
                message = "Where is the database? Call with_url('jdbc:mysql://host:3306/database')."
                raise ProgramError(message)
            return JdbcConnectionOptions(self._url, self._driver_name, self._user_name, self._password)


class JdbcExecutionOptions:
    """When rows are sent, and how often it is tried."""

    def __init__(self, batch_interval_ms: int = 0, batch_size: int = 5000, max_retries: int = 3) -> None:
        self._batch_interval_ms = batch_interval_ms
        self._batch_size = batch_size
        self._max_retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """Return after how many milliseconds rows are sent in any case; 0: only with others or a checkpoint."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return how many rows are sent at a time."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return how often a failed batch is tried again."""
        return self._max_retries

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Start to describe options."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Collects options; what is not said is as in Flink: 5000 rows, no interval, 3 retries."""

        def __init__(self) -> None:
            self._options: dict[str, int] = {}

        def with_batch_interval_ms(self, batch_interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Send rows after this many milliseconds in any case."""
            return self._set("batch_interval_ms", batch_interval_ms, 0)

        def with_batch_size(self, batch_size: int) -> JdbcExecutionOptions.Builder:
            """Send this many rows at a time."""
            return self._set("batch_size", batch_size, 1)

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Try a failed batch again this many times."""
            return self._set("max_retries", max_retries, 0)

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return JdbcExecutionOptions(**self._options)

        def _set(self, name: str, value: int, least: int) -> JdbcExecutionOptions.Builder:
            if value < least:
                message = f"{name} must be at least {least}, not {value}."
                raise ProgramError(message)
            self._options[name] = value
            return self


class JdbcSink(MySqlSink):
    """Runs a statement with Java's placeholders for each record; for ``sink_to`` and, as in PyFlink, ``add_sink``."""

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation | None,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that is at-least-once; with an upsert or ``REPLACE`` repeated rows change nothing.

        Args:
            sql: The statement, with ``?`` for each value.
            type_info: The type of the records; the names of its fields say where named rows and mappings have a value.
            jdbc_connection_options: Where the database is.
            jdbc_execution_options: When rows are sent.
        """
        return JdbcSink(_settings(sql, type_info, jdbc_connection_options, jdbc_execution_options))

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: TypeInformation | None,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink whose rows are seen once, with the checkpoint they belong to."""
        settings = _settings(sql, type_info, jdbc_connection_options, jdbc_execution_options)
        return JdbcSink(settings, DeliveryGuarantee.EXACTLY_ONCE)


def _settings(
    sql: str,
    type_info: TypeInformation | None,
    connection: JdbcConnectionOptions,
    execution: JdbcExecutionOptions | None,
) -> MySqlSinkSettings:
    execution = execution or JdbcExecutionOptions()
    statement = SqlStatement.parse(sql)
    return MySqlSinkSettings(
        connection=connection.connection(execution.get_max_retries()),
        statement=statement,
        columns=_columns(statement, type_info),
        batch_size=execution.get_batch_size(),
        batch_interval=execution.get_batch_interval_ms(),
    )


def _columns(statement: SqlStatement, type_info: Any) -> tuple[str, ...] | None:
    if not isinstance(type_info, RowTypeInfo):
        return None
    names = type_info.get_field_names()
    if len(names) != statement.parameters:
        message = f"The statement has {statement.parameters} placeholders, but the rows have the fields {names}."
        raise ProgramError(message)
    # Fields without names are called like this; rows with names of their own go by position then.
    return None if names == [f"f{index}" for index in range(len(names))] else tuple(names)
