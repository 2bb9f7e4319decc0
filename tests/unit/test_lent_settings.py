"""Settings lent to a session that others started are there while jobs run, and as before after the last one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.execution.spark.driver.lent_settings import LentSettings


class Conf:
    """Spark's settings, as the JVM holds them."""

    def __init__(self, **values: str) -> None:
        self.values = values

    def contains(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str) -> str:
        return self.values[key]

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def remove(self, key: str) -> None:
        del self.values[key]


def session_with(conf: Conf, *, is_stopped: bool = False) -> Any:
    core = SimpleNamespace(conf=lambda: conf, isStopped=lambda: is_stopped)
    return SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: core), pythonExec="python3"))


NEEDED = {"buffer": "128", "retries": "1", "mode": "fast"}


def test_what_was_there_comes_back_and_what_was_not_goes() -> None:
    conf = Conf(retries="4", mode="fast", other="x")
    session = session_with(conf)
    lent = LentSettings()
    lent.lend(session, "job", NEEDED, "/opt/python")
    assert conf.values == {"buffer": "128", "retries": "1", "mode": "fast", "other": "x"}
    assert session.sparkContext.pythonExec == "/opt/python"
    lent.give_back("job")
    assert conf.values == {"retries": "4", "mode": "fast", "other": "x"}
    assert session.sparkContext.pythonExec == "python3"


def test_the_last_of_several_jobs_puts_them_back() -> None:
    conf = Conf(retries="4")
    session = session_with(conf)
    lent = LentSettings()
    lent.lend(session, "first", NEEDED, None)
    lent.lend(session, "second", NEEDED, None)
    lent.lend(session, "first", NEEDED, None)  # a restart asks again
    lent.give_back("first")
    assert conf.values["retries"] == "1"
    lent.give_back("second")
    assert conf.values == {"retries": "4"}


def test_a_job_that_got_nothing_gives_nothing_back() -> None:
    conf = Conf(retries="4")
    lent = LentSettings()
    lent.give_back("refused")
    lent.lend(session_with(conf), "job", NEEDED, None)
    lent.give_back("refused")
    assert conf.values["retries"] == "1"


def test_a_session_that_was_stopped_is_left_alone() -> None:
    gone, conf = Conf(), Conf(retries="4")
    lent = LentSettings()
    lent.lend(session_with(gone, is_stopped=True), "old", NEEDED, None)
    lent.lend(session_with(conf), "new", NEEDED, None)
    lent.give_back("new")
    assert conf.values == {"retries": "4"}
    lent.lend(session_with(gone, is_stopped=True), "old", NEEDED, None)
    lent.give_back("old")
    assert gone.values == NEEDED
