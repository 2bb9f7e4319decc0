"""One connection to a database: made when it is needed, and made again when it is lost."""

from __future__ import annotations

import contextlib
import datetime
import ssl
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from penstock.errors import ProgramError
from penstock.foundation.clock import pause
from penstock.foundation.retrying import retry

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.mysql.connection_options import MySqlConnectionOptions

__all__ = ["LOCK_WAIT_TIMEOUT", "MySqlConnection", "import_pymysql", "is_transient"]

T = TypeVar("T")

LOCK_WAIT_TIMEOUT = 1205
# What may be gone with the next attempt.
_TRANSIENT = {
    1040,  # too many connections
    1053,  # the server shuts down
    *(1152, 1158, 1159, 1160, 1161),  # the network fails in the middle
    LOCK_WAIT_TIMEOUT,
    1213,  # a deadlock
    *(1317, 1927),  # the statement or the connection was killed
    *(2002, 2003, 2006, 2013, 2055),  # the client finds no server, or has lost it
}


def is_transient(error: Exception) -> bool:
    """Tell whether it may work on a new connection."""
    if isinstance(error, import_pymysql().err.InterfaceError):
        return True  # the connection was closed before
    return isinstance(error, import_pymysql().err.OperationalError) and bool(error.args) and error.args[0] in _TRANSIENT


class MySqlConnection:
    """A connection in which every statement is a transaction, unless one is begun.

    Args:
        options: Where to connect to, and how often to try.
        wait: Waits for a number of seconds; tests give another one.
    """

    def __init__(self, options: MySqlConnectionOptions, wait: Callable[[float], None] = pause) -> None:
        self.options = options
        self.wait = wait
        self._raw: Any = None

    @property
    def is_open(self) -> bool:
        """Tell whether there is a connection, as far as this side knows."""
        return self._raw is not None and bool(self._raw.open)

    def open(self) -> None:
        """Connect if there is no connection."""
        if not self.is_open:
            self._raw = self._connect()

    def execute(self, statement: str) -> int:
        """Run a statement and return how many rows it changed."""
        with contextlib.closing(self._live().cursor()) as cursor:
            return int(cursor.execute(statement))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return self.named_query(statement)[1]

    def named_query(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a query and return the names of its columns and its rows."""
        with contextlib.closing(self._live().cursor()) as cursor:
            cursor.execute(statement)
            return [column[0] for column in cursor.description], list(cursor.fetchall())

    def escape(self, value: Any) -> str:
        """Return a value as it is written in a statement."""
        return str(self._live().escape(value))

    def in_transaction(self, work: Callable[[MySqlConnection], T]) -> T:
        """Do work in a transaction and commit it; all of it is done again after a failure that may pass."""

        def attempt() -> T:
            self.open()
            self._raw.begin()
            result = work(self)
            self._raw.commit()
            return result

        return self.retry(attempt)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call until it works, the failure is one that stays, or it was tried as often as the options say."""
        return retry(
            attempt,
            retries=self.options.retries,
            backoff=self.options.retry_backoff,
            may_pass=is_transient,
            on_failure=self.close,
            wait=self.wait,
            place=f"The database at {self.options.place}",
        )

    def close(self) -> None:
        """Close the connection; what is not committed is rolled back, prepared branches stay."""
        if self._raw is not None:
            with contextlib.suppress(Exception):  # it may be broken, which is why it is closed
                self._raw.close()
            self._raw = None

    def _live(self) -> Any:
        """Return the client library's connection, never a new one: that would know nothing of an open transaction."""
        if self._raw is None:
            message = "not connected"
            raise import_pymysql().err.InterfaceError(0, message)
        return self._raw

    def _connect(self) -> Any:
        options = self.options
        client = import_pymysql()
        return client.connect(
            host=options.host,
            port=options.port,
            user=options.user,
            password=options.password,
            database=options.database,
            charset=options.charset,
            connect_timeout=options.connect_timeout / 1000,
            read_timeout=None if options.socket_timeout is None else options.socket_timeout / 1000,
            write_timeout=None if options.socket_timeout is None else options.socket_timeout / 1000,
            init_command=None if options.time_zone is None else f"SET time_zone = '{options.time_zone}'",
            conv=_conversions(client, options.time_zone),
            ssl=_ssl_context(options),
            ssl_disabled=options.ssl_mode == "DISABLED",
            program_name="penstock",
            autocommit=True,
        )


def _conversions(client: Any, time_zone: str | None) -> dict[Any, Any]:
    escape = client.converters.escape_datetime
    zone = None if time_zone is None else _zone(time_zone)

    def escape_datetime(value: datetime.datetime, mapping: Any = None) -> Any:
        if value.tzinfo is not None:
            if zone is None:
                message = (
                    f"{value!r} has a time zone, but that of the database session is not known: set the option "
                    "time_zone of the connection, for example to '+00:00'."
                )
                raise ProgramError(message)
            value = value.astimezone(zone)
        return escape(value, mapping)

    return {**client.converters.conversions, datetime.datetime: escape_datetime}


def _zone(name: str) -> datetime.tzinfo:
    if name[0] not in "+-":
        return ZoneInfo(name)
    hours, minutes = name[1:].split(":")
    offset = datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return datetime.timezone(-offset if name[0] == "-" else offset)


@lru_cache(8)  # to read the system's certificates takes longer than to connect
def _ssl_context(options: MySqlConnectionOptions) -> ssl.SSLContext | None:
    if options.ssl_mode in ("DISABLED", "PREFERRED"):
        return None
    context = ssl.create_default_context(cafile=options.ssl_ca)
    context.check_hostname = options.ssl_mode == "VERIFY_IDENTITY"
    if options.ssl_mode == "REQUIRED":
        context.verify_mode = ssl.CERT_NONE
    if options.ssl_cert is not None:
        context.load_cert_chain(options.ssl_cert, options.ssl_key)
    return context


def import_pymysql() -> Any:
    """Return the package pymysql."""
    try:
        import pymysql
    except ImportError as error:
        message = "MySQL and MariaDB need the package pymysql: pip install 'penstock[mysql]'."
        raise ProgramError(message) from error
    return pymysql
