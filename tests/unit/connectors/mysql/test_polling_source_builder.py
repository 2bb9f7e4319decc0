"""A polling source is refused where it is written, not when it runs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.mysql import MySqlPollingSource
from penstock.errors import ProgramError


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.set_table("t"),
        lambda it: it.set_url("mysql://localhost/d"),
        lambda it: it.set_url("mysql://localhost/d").set_table("t").set_interval(0),
        lambda it: it.set_url("mysql://localhost/d").set_table("t").set_map_key("a").set_growing_columns("b"),
        lambda it: it.set_url("mysql://localhost/d").set_table("t").set_start_after(1),
        lambda it: it.set_url("mysql://localhost/d").set_table("t").set_growing_columns("a").set_start_after(1, 2),
    ],
)
def test_what_makes_no_sense_is_refused(change: Any) -> None:
    with pytest.raises(ProgramError):
        change(MySqlPollingSource.builder()).build()
