"""A password in an address never shows in a message, also where the address is wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.redis.connection_options import RedisConnectionOptions
from penstock.errors import ProgramError


@pytest.mark.parametrize(
    "password", ["hun#ter2", "hun/ter2", "hun?ter2", "1/ter2", "1#ter2", "1?ter2", "[ter2", "h:ter2@"]
)
@pytest.mark.parametrize(
    "read",
    [
        lambda password: MySqlConnectionOptions.from_url(f"mysql://clerk:{password}@db.example/shop?nonsense=1"),
        lambda password: MySqlConnectionOptions.from_url(f"mysql://clerk:{password}@db.example:x/shop"),
        lambda password: MySqlConnectionOptions.from_url(f"jdbc:oracle://clerk:{password}@db.example/shop"),
        lambda password: RedisConnectionOptions(url=f"http://clerk:{password}@cache.example/2"),
    ],
)
def test_a_wrong_address_does_not_show_its_password(read: Callable[[str], Any], password: str) -> None:
    with pytest.raises(ProgramError) as raised:
        read(password)
    shown = "".join(traceback.format_exception_only(raised.value))
    assert "ter2" not in shown
    assert "hun" not in shown
    assert raised.value.__cause__ is None
    assert ".example" in shown


def test_a_password_with_special_characters_is_written_percent_encoded() -> None:
    options = MySqlConnectionOptions.from_url("mysql://clerk:a%2Fb%23c%3Fd%40e@db.example/shop")
    assert (options.password, options.host, options.database) == ("a/b#c?d@e", "db.example", "shop")
    with pytest.raises(ProgramError, match="%2F, %23 and %3F"):
        MySqlConnectionOptions.from_url("mysql://clerk:a/b@db.example/shop")
