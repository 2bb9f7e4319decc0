"""Where a database is, who connects, and how often and how long a connection is tried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from penstock.connectors.address import split_address
from penstock.errors import ProgramError
from penstock.foundation.retrying import check_retries
from penstock.vocabulary.settings.secret_values import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MySqlConnectionOptions"]

_SSL_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")


@dataclass(frozen=True, kw_only=True)
class MySqlConnectionOptions:
    """How to connect to a MySQL or MariaDB server.

    Example:
        >>> MySqlConnectionOptions.from_url("mysql://clerk:secret@db.example/shop?retries=5").database
        'shop'
    """

    host: str = "localhost"
    port: int = 3306
    user: str | None = None
    password: str = field(default="", repr=False)
    database: str | None = None
    connect_timeout: int = 10_000
    """How many milliseconds to wait for a connection."""
    socket_timeout: int | None = None
    """How many milliseconds to wait for an answer; without it, as long as it takes."""
    charset: str = "utf8mb4"
    time_zone: str | None = None
    """The session's time zone, such as ``+00:00``; without it, that of the server."""
    ssl_mode: str = "DISABLED"
    """DISABLED, PREFERRED (encrypted if the server can), REQUIRED (encrypted), VERIFY_CA (and the server's certificate
    is checked), VERIFY_IDENTITY (and it is for that very host)."""
    ssl_ca: str | None = None
    """The file with the certificates to trust; without it, those of the system."""
    ssl_cert: str | None = None
    """The file with the certificate of the client."""
    ssl_key: str | None = None
    """The file with the key of the client."""
    retries: int = 3
    """How often something is tried again after a lost connection, a deadlock or the like, before the job fails."""
    retry_backoff: int = 1_000
    """How many milliseconds to wait before the first retry; twice as long before each further one, at most 30 s."""

    def __post_init__(self) -> None:
        if self.ssl_mode not in _SSL_MODES:
            message = f"ssl_mode is one of {', '.join(_SSL_MODES)}, not {self.ssl_mode!r}."
            raise ProgramError(message)
        check_retries(retries=self.retries, retry_backoff=self.retry_backoff, connect_timeout=self.connect_timeout)

    @staticmethod
    def from_url(url: str, **changes: Any) -> MySqlConnectionOptions:
        """Read an address ``mysql://user:password@host:port/database?option=value``.

        Addresses of Java programs (``jdbc:mysql://``, ``jdbc:mariadb://``) are understood with their options, as far as
        these have a meaning here. Keyword arguments have the last word.
        """
        parts = split_address(url.removeprefix("jdbc:"))
        if parts.scheme not in ("mysql", "mariadb"):
            message = f"{hide_password(url)!r} is no address of a database; write mysql://user@host:3306/database."
            raise ProgramError(message)
        found: dict[str, Any] = {"database": unquote(parts.path.lstrip("/")) or None}
        try:
            if parts.hostname:
                found["host"] = parts.hostname
            if parts.port:
                found["port"] = parts.port
        except ValueError:
            message = f"{hide_password(url)!r} must name one host and one port."
            raise ProgramError(message) from None  # the reason quotes the address
        if parts.username:
            found["user"] = unquote(parts.username)
        if parts.password:
            found["password"] = unquote(parts.password)
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            found.update(_option(name, value, url))
        return MySqlConnectionOptions(**{**found, **changes})

    def with_retries(self, retries: int) -> MySqlConnectionOptions:
        """Return the same with another number of retries."""
        return replace(self, retries=retries)

    @property
    def place(self) -> str:
        """Return what messages call the server."""
        return f"{self.host}:{self.port}/{self.database or ''}"


def _option(name: str, value: str, url: str) -> dict[str, Any]:
    if name in _JAVA_ONLY:
        return {}
    if name not in _OPTIONS:
        known = ", ".join(sorted(_OPTIONS))
        message = f"{hide_password(url)!r}: the option {name!r} is not known here. There are: {known}."
        raise ProgramError(message)
    option, read = _OPTIONS[name]
    try:
        return {option: read(value)}
    except ValueError as error:
        message = f"{hide_password(url)!r}: {value!r} cannot be the option {name!r}."
        raise ProgramError(message) from error


def _charset(name: str) -> str:
    return "utf8mb4" if name.lower().replace("-", "") in ("utf8", "utf8mb3", "utf8mb4") else name


def _ssl_mode(name: str) -> str:
    return name.upper()


def _use_ssl(flag: str) -> str:
    return "REQUIRED" if flag.lower() == "true" else "DISABLED"


def _time_zone(name: str) -> str:
    if name.upper() in ("UTC", "GMT", "Z", "ETC/UTC"):
        return "+00:00"
    if name.upper().startswith(("GMT+", "GMT-", "UTC+", "UTC-")):
        hours, _, minutes = name[4:].partition(":")
        return f"{name[3]}{int(hours):02d}:{int(minutes or 0):02d}"
    return name


_OPTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "connect_timeout": ("connect_timeout", int),
    "socket_timeout": ("socket_timeout", int),
    "charset": ("charset", _charset),
    "time_zone": ("time_zone", _time_zone),
    "ssl_mode": ("ssl_mode", _ssl_mode),
    "ssl_ca": ("ssl_ca", str),
    "ssl_cert": ("ssl_cert", str),
    "ssl_key": ("ssl_key", str),
    "retries": ("retries", int),
    "retry_backoff": ("retry_backoff", int),
    # As the Java drivers call them.
    "user": ("user", str),
    "password": ("password", str),
    "connectTimeout": ("connect_timeout", int),
    "socketTimeout": ("socket_timeout", int),
    "characterEncoding": ("charset", _charset),
    "connectionTimeZone": ("time_zone", _time_zone),
    "serverTimezone": ("time_zone", _time_zone),
    "sslMode": ("ssl_mode", _ssl_mode),
    "useSSL": ("ssl_mode", _use_ssl),
}

# They tune the Java drivers. Rows are sent many at a time, as Unicode, and connections are made anew here anyway.
_JAVA_ONLY = {
    "allowPublicKeyRetrieval",
    "autoReconnect",
    "cachePrepStmts",
    "prepStmtCacheSize",
    "prepStmtCacheSqlLimit",
    "rewriteBatchedStatements",
    "useServerPrepStmts",
    "useUnicode",
}
