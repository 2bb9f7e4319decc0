"""MySQL and MariaDB: sinks that write rows at least once, under their key, or exactly once, and a source that polls."""

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.mysql.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.connectors.mysql.polling_source import MySqlPollingSource, MySqlPollingSourceBuilder
from penstock.connectors.mysql.sink import MySqlSink, MySqlSinkBuilder

__all__ = [
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "MySqlConnectionOptions",
    "MySqlPollingSource",
    "MySqlPollingSourceBuilder",
    "MySqlSink",
    "MySqlSinkBuilder",
]
