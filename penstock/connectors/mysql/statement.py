"""SQL with placeholders, made ready to carry many rows at a time; also made from the names of a table's columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["SqlStatement", "insert_statement", "quote", "upsert_statement"]

# What a placeholder is not: text in quotes or backticks, and comments. Patterns are compiled when a program needs them.
_QUOTED = r"""(?xs) '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*` | --\s[^\n]* | \#[^\n]* | /\*.*?\*/"""
_INSERT = r"(?i)\s*(?:insert|replace)\b"
_VALUES = r"(?i)\bvalues?\s*(?=\()"
_UPDATE = r"(?i)\bon\s+duplicate\s+key\s+update\b"
_OVERWRITES = r"(?i)\s*(?:replace|insert\s+ignore)\b"
_TAKES_NEW_VALUE = r"(?i)\s*([\w`.]+)\s*=\s*values?\s*\(\s*([\w`.]+)\s*\)\s*"
_LONGEST_STATEMENT = 1_000_000  # characters; servers refuse packets above a limit that is 16 MB or more


@dataclass(frozen=True)
class SqlStatement:
    """A statement with ``?`` for each parameter, as in Java.

    Rows of an ``INSERT`` or ``REPLACE`` with one list of values travel together in one statement; anything else is sent
    row by row.
    """

    text: str
    parameters: int
    _head: str
    _row: str
    _tail: str
    _carries_many: bool

    @staticmethod
    def parse(text: str) -> SqlStatement:
        """Find the placeholders of a statement, and what repeats if it carries several rows."""
        masked = _mask(text)
        head, row, tail = _divide(text, masked)
        if "?" in _mask(head) or "?" in _mask(tail):
            head, row, tail = "", text, ""
        parameters = masked.count("?")
        if parameters == 0:
            message = f"The statement has no placeholder, so no record would get into the database: {text}"
            raise ProgramError(message)
        return SqlStatement(text, parameters, head, _format(row), tail, _carries_many=bool(head))

    @property
    def is_repeatable(self) -> bool:
        """Tell whether writing the same row again leaves the table as it is, given a key that makes rows unique."""
        masked = _mask(self.text)
        if re.match(_OVERWRITES, masked):
            return True
        update = re.search(_UPDATE, masked)
        if update is None:
            return False
        parts = self.text[update.end() :].rstrip("; \n").split(",")
        assignments = [re.fullmatch(_TAKES_NEW_VALUE, part) for part in parts]
        return all(found is not None and found[1] == found[2] for found in assignments)

    def render(self, rows: Sequence[Sequence[Any]], escape: Callable[[Any], str]) -> Iterator[tuple[str, int]]:
        """Yield finished statements, each with the number of rows it carries, in their order."""
        if not self._carries_many:
            for row in rows:
                yield self._fill(row, escape), 1
            return
        filled: list[str] = []
        length = 0
        for row in rows:
            text = self._fill(row, escape)
            if filled and length + len(text) > _LONGEST_STATEMENT:
                yield f"{self._head}{','.join(filled)}{self._tail}", len(filled)
                filled, length = [], 0
            filled.append(text)
            length += len(text) + 1
        if filled:
            yield f"{self._head}{','.join(filled)}{self._tail}", len(filled)

    def _fill(self, row: Sequence[Any], escape: Callable[[Any], str]) -> str:
        try:
            return self._row % tuple(map(escape, row))
        except (TypeError, AttributeError) as error:
            problem = (
                f"one of its values is of a type that the database does not know ({error})"
                if len(row) == self.parameters
                else f"it has {len(row)} values for {self.parameters} placeholders"
            )
            message = f"A record cannot be written: {problem}.\n  values     {row!r:.300}\n  statement  {self.text}"
            raise ProgramError(message) from error


def _mask(text: str) -> str:
    return re.sub(_QUOTED, lambda quoted: "x" * len(quoted.group()), text)


def _format(text: str) -> str:
    """Turn placeholders into those of Python's formatting."""
    parts: list[str] = []
    end = 0
    for quoted in re.finditer(_QUOTED, text):
        parts += [text[end : quoted.start()].replace("%", "%%").replace("?", "%s"), quoted.group().replace("%", "%%")]
        end = quoted.end()
    parts.append(text[end:].replace("%", "%%").replace("?", "%s"))
    return "".join(parts)


def _divide(text: str, masked: str) -> tuple[str, str, str]:
    """Return what comes before the list of values, the list, and what comes after."""
    values = re.search(_VALUES, masked) if re.match(_INSERT, masked) else None
    if values is None:
        return "", text, ""
    depth = 0
    for position in range(values.end(), len(masked)):
        depth += {"(": 1, ")": -1}.get(masked[position], 0)
        if depth == 0:
            end = position + 1
            tail = text[end:].rstrip("; \n")
            if tail.lstrip().startswith(","):
                break  # several lists of values in one statement: the program has its own idea of how rows travel
            return text[: values.end()], text[values.end() : end], tail
    return "", text, ""


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
