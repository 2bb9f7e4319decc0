"""Addresses of databases, ours and Java's."""

from __future__ import annotations

import pytest

from penstock.connectors.mysql import MySqlConnectionOptions
from penstock.errors import ProgramError

URL = MySqlConnectionOptions.from_url


def test_an_address_has_everything() -> None:
    options = URL("mysql://clerk:p%40ss@db.example:3307/shop?connect_timeout=500&retries=7&charset=latin1")
    assert (options.host, options.port, options.database) == ("db.example", 3307, "shop")
    assert (options.user, options.password) == ("clerk", "p@ss")
    assert (options.connect_timeout, options.retries, options.charset) == (500, 7, "latin1")


def test_what_is_not_said_is_as_documented() -> None:
    options = URL("mysql://")
    assert options == MySqlConnectionOptions()
    assert (options.host, options.port, options.charset, options.retries) == ("localhost", 3306, "utf8mb4", 3)


def test_keywords_have_the_last_word() -> None:
    assert URL("mysql://a:b@h/d", user="c", retries=0) == URL("mysql://c:b@h/d?retries=0")


def test_addresses_of_java_programs_are_understood() -> None:
    url = (
        "jdbc:mysql://db:3306/shop?user=a&password=b&useSSL=true&characterEncoding=UTF-8&serverTimezone=UTC"
        "&connectTimeout=100&socketTimeout=200&rewriteBatchedStatements=true&useUnicode=true"
    )
    assert URL(url) == MySqlConnectionOptions(
        host="db",
        user="a",
        password="b",
        database="shop",
        ssl_mode="REQUIRED",
        time_zone="+00:00",
        connect_timeout=100,
        socket_timeout=200,
    )
    assert URL("jdbc:mariadb://db/shop?serverTimezone=GMT%2B8").time_zone == "+08:00"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d",
        "mysql://h:many/d",
        "mysql://h/d?colour=red",
        "mysql://h/d?retries=often",
        "mysql://h/d?retries=-1",
        "mysql://h/d?sslMode=SOMETIMES",
    ],
)
def test_what_cannot_be_understood_is_refused(url: str) -> None:
    with pytest.raises(ProgramError):
        URL(url)


@pytest.mark.parametrize("url", ["mysql://a:secret@h/d?colour=red", "jdbc:mysql://h/d?colour=red&password=secret"])
def test_passwords_are_not_shown(url: str) -> None:
    with pytest.raises(ProgramError) as caught:
        URL(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(MySqlConnectionOptions(password="secret"))
