"""What ``penstock doctor --spark`` tries, in the session that the other tests share."""

from __future__ import annotations

from penstock.execution.spark.driver.session import find_session
from penstock.execution.spark.internals.self_test import live_checks, run_checks


def test_what_is_used_of_sparks_inside_works_in_a_session() -> None:
    outcomes = run_checks(live_checks(find_session(None, {}, 2)))
    assert len(outcomes) == 6
    assert [outcome for outcome in outcomes if outcome.problem is not None] == []
