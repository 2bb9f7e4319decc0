"""Who has been heard of, and when: decides without a clock or a thread who is taken for dead.

Both ends of the control channel send a heartbeat in every interval, from a thread of their own. Whoever is not heard of
for the timeout is stopped, swapping, starved or cut off. Whether the other end was silent or this process itself did
not run cannot be told by silence alone: a process that was stopped finds all others silent when it goes on. So the time
in which this process did not look counts for nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["INTERVAL_OPTION", "TIMEOUT_OPTION", "HeartbeatSettings", "Heartbeats", "Verdict"]

INTERVAL_OPTION = "heartbeat.interval"
TIMEOUT_OPTION = "heartbeat.timeout"

P = TypeVar("P")


@dataclass(frozen=True)
class HeartbeatSettings:
    """How often a heartbeat is sent, and how long none may come; in milliseconds."""

    interval: int = 10_000
    timeout: int = 50_000

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> HeartbeatSettings:
        """Return what a job's options say."""
        known = {INTERVAL_OPTION: cls.interval, TIMEOUT_OPTION: cls.timeout}
        for option in known:
            if option in options:
                try:
                    known[option] = parse_duration(str(options[option]))
                except ValueError as error:
                    message = f"{option}: {error}"
                    raise ProgramError(message) from error
        interval, timeout = known.values()
        if not 0 < interval < timeout:
            message = (
                f"{INTERVAL_OPTION} is {interval} ms; it must be more than 0 and less than {TIMEOUT_OPTION}, which is"
                f" {timeout} ms."
            )
            raise ProgramError(message)
        return cls(interval, timeout)

    @property
    def look_millis(self) -> int:
        """Return how often to look who is silent."""
        return max(10, min(self.interval, self.timeout // 10))


@dataclass(frozen=True)
class Verdict(Generic[P]):
    """What a look has found."""

    silent: tuple[P, ...] = ()
    """Who has not been heard of for the timeout; each is named once."""
    pause: int = 0
    """For how many milliseconds this process itself did not look, where that is longer than the timeout."""


class Heartbeats(Generic[P]):
    """The peers of one process. All times are milliseconds of one clock that never goes back."""

    def __init__(self, settings: HeartbeatSettings, now: int) -> None:
        self._settings = settings
        self._heard: dict[P, int] = {}
        self._looked = now

    def heard(self, peer: P, now: int) -> None:
        """Take note that a peer has said something."""
        self._heard[peer] = now

    def forget(self, peer: P) -> None:
        """Expect nothing of a peer any more."""
        self._heard.pop(peer, None)

    def overdue(self, now: int) -> int:
        """Return for how many milliseconds this process has not looked, where others have given it up; else 0."""
        pause = now - self._looked - self._settings.look_millis
        return pause if pause > self._settings.timeout else 0

    def look(self, now: int) -> Verdict[P]:
        """Find out who is silent; forgets them."""
        overdue = self.overdue(now)
        pause, self._looked = now - self._looked - self._settings.look_millis, now
        if overdue:
            return Verdict(pause=overdue)
        if pause > self._settings.look_millis:
            # What they said meanwhile is not read yet.
            self._heard = {peer: heard + pause for peer, heard in self._heard.items()}
        silent = tuple(peer for peer, heard in self._heard.items() if now - heard > self._settings.timeout)
        for peer in silent:
            del self._heard[peer]
        return Verdict(silent)
