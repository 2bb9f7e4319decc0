"""Statements with Java's placeholders: what a parameter is, which rows travel together, what may be repeated."""

from __future__ import annotations

import json

import pytest

from penstock.connectors.mysql.statement import SqlStatement, insert_statement, upsert_statement
from penstock.errors import ProgramError


def rendered(sql: str, *rows: tuple[object, ...]) -> list[tuple[str, int]]:
    return list(SqlStatement.parse(sql).render(rows, json.dumps))


def test_rows_of_an_insert_travel_together() -> None:
    assert rendered("INSERT INTO t (a, b) VALUES (?, ?)", (1, "x"), (2, "y")) == [
        ('INSERT INTO t (a, b) VALUES (1, "x"),(2, "y")', 2)
    ]


def test_what_follows_the_values_comes_once() -> None:
    sql = "insert into t values (?, now(), f(?)) on duplicate key update b = values(b);"
    assert rendered(sql, (1, 2), (3, 4)) == [
        ("insert into t values (1, now(), f(2)),(3, now(), f(4)) on duplicate key update b = values(b)", 2)
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET a = ? WHERE b = ?",
        "DELETE FROM t WHERE a = ? AND b = ?",
        "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = a + ?",
        "INSERT INTO t VALUES (?), (?)",
        "INSERT INTO t SELECT ?, ?",
    ],
)
def test_other_statements_are_sent_row_by_row(sql: str) -> None:
    first, second = rendered(sql, (1, 2), (3, 4))
    assert first == (sql.replace("?", "1", 1).replace("?", "2", 1), 1)
    assert second == (sql.replace("?", "3", 1).replace("?", "4", 1), 1)


def test_question_marks_in_quotes_and_comments_are_text() -> None:
    sql = "INSERT INTO `odd?` VALUES ('it''s?', \"a\\\"?\", ?, 100 % 7) -- why?"
    statement = SqlStatement.parse(sql)
    assert statement.parameters == 1
    assert list(statement.render([(5,)], str)) == [(sql.replace(", ?,", ", 5,"), 1)]


def test_a_statement_without_placeholders_is_refused() -> None:
    with pytest.raises(ProgramError, match="no placeholder"):
        SqlStatement.parse("INSERT INTO t VALUES (1)")


def test_long_batches_become_several_statements() -> None:
    wide = "x" * 400_000
    counts = [count for _, count in rendered("INSERT INTO t VALUES (?)", *[(wide,)] * 5)]
    assert counts == [2, 2, 1]


def test_a_record_with_too_few_values_is_named() -> None:
    with pytest.raises(ProgramError, match="1 values for 2 placeholders"):
        rendered("INSERT INTO t VALUES (?, ?)", ("alone",))


@pytest.mark.parametrize(
    ("sql", "is_repeatable"),
    [
        ("INSERT INTO t VALUES (?)", False),
        ("REPLACE INTO t VALUES (?)", True),
        ("INSERT IGNORE INTO t VALUES (?)", True),
        ("INSERT INTO t VALUES (?, ?) ON DUPLICATE KEY UPDATE b = VALUES(b), `c` = VALUES(`c`)", True),
        ("INSERT INTO t VALUES (?, ?) ON DUPLICATE KEY UPDATE b = b + VALUES(b)", False),
        ("INSERT INTO t VALUES (?, ?) ON DUPLICATE KEY UPDATE b = VALUES(c)", False),
        ("INSERT INTO t VALUES (?, 'on duplicate key update b = values(b)')", False),
        ("UPDATE t SET a = ?", False),
    ],
)
def test_only_statements_that_overwrite_by_key_are_repeatable(sql: str, is_repeatable: bool) -> None:
    assert SqlStatement.parse(sql).is_repeatable is is_repeatable


def test_statements_for_a_table() -> None:
    assert insert_statement("shop.t", ["a", "b`c"]) == "INSERT INTO `shop`.`t` (`a`, `b``c`) VALUES (?, ?)"
    assert upsert_statement("t", ["k", "v", "w"], ["k"]) == (
        "INSERT INTO `t` (`k`, `v`, `w`) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE `v` = VALUES(`v`), `w` = VALUES(`w`)"
    )
    assert upsert_statement("t", ["k"], ["k"]).endswith("ON DUPLICATE KEY UPDATE `k` = VALUES(`k`)")


def test_key_columns_must_be_written() -> None:
    with pytest.raises(ProgramError, match="id"):
        upsert_statement("t", ["a"], ["id"])
    with pytest.raises(ProgramError, match="Which columns"):
        insert_statement("t", [])
