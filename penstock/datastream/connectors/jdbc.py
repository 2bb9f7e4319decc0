"""The JDBC sink, at the place PyFlink gives it."""

from penstock.connectors.mysql.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
