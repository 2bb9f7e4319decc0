"""Sources and sinks for MySQL and MariaDB."""

from penstock.connectors.mysql import (
    MySqlConnectionOptions,
    MySqlPollingSource,
    MySqlPollingSourceBuilder,
    MySqlSink,
    MySqlSinkBuilder,
)

__all__ = [
    "MySqlConnectionOptions",
    "MySqlPollingSource",
    "MySqlPollingSourceBuilder",
    "MySqlSink",
    "MySqlSinkBuilder",
]
