"""Who is taken for dead, and who is not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.execution.spark.control.heartbeats import Heartbeats, HeartbeatSettings, Verdict
from penstock.execution.spark.control.messages import Busy
from penstock.execution.spark.worker.pulse import BusyWatch

SETTINGS = HeartbeatSettings(interval=10_000, timeout=50_000)


class Watched:
    """Looks as often as it should, unless it is told not to."""

    def __init__(self) -> None:
        self.now = 0
        self.peers: Heartbeats[str] = Heartbeats(SETTINGS, 0)
        self.found: list[tuple[int, Verdict[str]]] = []

    def look_until(self, time: int, speaking: tuple[str, ...] = ()) -> None:
        while self.now < time:
            self.now += SETTINGS.look_millis
            if self.now % SETTINGS.interval == 0:
                for peer in speaking:
                    self.peers.heard(peer, self.now)
            verdict = self.peers.look(self.now)
            if verdict.silent or verdict.pause:
                self.found.append((self.now, verdict))


def test_who_speaks_is_alive() -> None:
    watched = Watched()
    watched.look_until(3_600_000, ("a", "b"))
    assert watched.found == []


def test_who_is_silent_for_the_timeout_is_dead_and_named_once() -> None:
    watched = Watched()
    watched.look_until(20_000, ("a", "b"))
    watched.look_until(200_000, ("b",))
    assert watched.found == [(75_000, Verdict(("a",)))]


def test_nothing_is_expected_of_who_has_gone() -> None:
    watched = Watched()
    watched.look_until(20_000, ("a",))
    watched.peers.forget("a")
    watched.look_until(200_000)
    assert watched.found == []


def test_a_process_that_was_stopped_for_a_while_blames_nobody() -> None:
    """What the others said meanwhile waits to be read."""
    watched = Watched()
    watched.look_until(20_000, ("a",))
    watched.now += 48_000
    watched.look_until(watched.now + SETTINGS.look_millis)
    assert watched.found == []
    watched.look_until(watched.now + 60_000)
    assert [verdict.silent for _, verdict in watched.found] == [("a",)]


def test_a_process_that_was_stopped_for_the_timeout_knows_that_others_gave_it_up() -> None:
    watched = Watched()
    watched.look_until(20_000, ("a",))
    watched.now += 60_000
    assert watched.peers.overdue(watched.now) == 55_000
    watched.look_until(watched.now + SETTINGS.look_millis)
    assert watched.found == [(85_000, Verdict(pause=60_000))]


def test_settings_are_durations_under_flinks_names() -> None:
    assert HeartbeatSettings.from_options({}) == HeartbeatSettings(10_000, 50_000)
    options = {"heartbeat.interval": "500 ms", "heartbeat.timeout": "3 s"}
    assert HeartbeatSettings.from_options(options) == HeartbeatSettings(500, 3_000)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"heartbeat.interval": "often"}, r"heartbeat\.interval: .*often"),
        ({"heartbeat.timeout": "10 s"}, r"heartbeat\.interval is 10000 ms; it must be .* less than heartbeat\.timeout"),
        ({"heartbeat.interval": "0 ms"}, r"must be more than 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ProgramError, match=problem):
        HeartbeatSettings.from_options(options)


def test_a_task_that_does_not_come_back_is_busy_and_shows_where() -> None:
    turns, stacks = [0], ["in slow_lookup()"]
    watch = BusyWatch(lambda: turns[0], lambda: stacks[0])
    assert watch.look(0) is None
    assert watch.look(10_000) == Busy(10_000, "in slow_lookup()")
    assert watch.look(20_000) == Busy(20_000, "in slow_lookup()")
    turns[0] += 1
    assert watch.look(30_000) is None


def test_a_task_that_waits_for_room_behind_it_is_not_busy() -> None:
    watch = BusyWatch(lambda: 0, lambda: "")
    watch.look(0)
    assert watch.look(10_000) is None
