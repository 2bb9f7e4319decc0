"""Statements that write rows into a table, made from the names of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["insert_statement", "quote", "upsert_statement"]


def quote(name: str) -> str:
    """Return a name as it is written in statements; the dot between a database and a table stays one."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))


def insert_statement(table: str, columns: Sequence[str]) -> str:
    """Return the statement that adds a row."""
    if not columns:
        message = f"Which columns of {table} are written? Name them: set_table({table!r}, 'id', 'name')."
        raise ProgramError(message)
    names = ", ".join(map(quote, columns))
    return f"INSERT INTO {quote(table)} ({names}) VALUES ({', '.join('?' * len(columns))})"


def upsert_statement(table: str, columns: Sequence[str], key_columns: Sequence[str]) -> str:
    """Return the statement that adds a row, or changes the one with the same key."""
    unknown = [name for name in key_columns if name not in columns]
    if unknown:
        message = f"The key columns {unknown} are not among those that are written: {list(columns)}."
        raise ProgramError(message)
    # A row that is nothing but its key has nothing to change; the key stands for itself.
    changed = [name for name in columns if name not in key_columns] or [key_columns[0]]
    updates = ", ".join(f"{quote(name)} = VALUES({quote(name)})" for name in changed)
    return f"{insert_statement(table, columns)} ON DUPLICATE KEY UPDATE {updates}"
