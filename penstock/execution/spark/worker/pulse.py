"""A worker's heartbeats: says that the process runs and what its task is busy with, and hears whether the driver does.

Nothing here runs in the task's own thread, which may sit in a function of the program for long. One thread speaks, and
may be held up by a driver that takes nothing; the other one listens and looks at the clock.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import TYPE_CHECKING

from penstock.errors import WorkerLostError
from penstock.execution.spark.control.heartbeats import Heartbeats
from penstock.execution.spark.control.messages import Busy, Failed, Heartbeat
from penstock.execution.spark.worker.dead_man_switch import DeadManSwitch
from penstock.execution.spark.worker.standing_processes import StandingProcesses, ancestors

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.execution.spark.control.client import ControlClient
    from penstock.execution.spark.control.heartbeats import HeartbeatSettings
    from penstock.foundation.clock import Clock

__all__ = ["BusyWatch", "Pulse"]

_log = logging.getLogger("penstock.worker")

_GRACE_MILLIS = 2000
"""How much longer than others wait for this process it may stand still before the system ends it."""
_DRIVER = "driver"


class BusyWatch:
    """Finds out, from heartbeat to heartbeat, whether a task has come back from the functions of the program.

    Args:
        turns: Returns how many times the task's loop has gone round.
        where: Returns where the task's thread sits, empty where it waits for something other than a function.
    """

    def __init__(self, turns: Callable[[], int], where: Callable[[], str]) -> None:
        self._turns = turns
        self._where = where
        self._seen = -1
        self._since = 0

    def look(self, now: int) -> Busy | None:
        """Return what the task is busy with, if it has not come back since the last look."""
        turns = self._turns()
        if turns != self._seen:
            self._seen, self._since = turns, now
            return None
        stack = self._where()
        return Busy(now - self._since, stack) if stack else None


class Pulse:
    """The heartbeats of one task, from its first connection to its end."""

    def __init__(self, client: ControlClient, settings: HeartbeatSettings, clock: Clock, busy: BusyWatch) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._busy = busy
        self._driver: Heartbeats[str] = Heartbeats(settings, clock.elapsed())
        self._driver.heard(_DRIVER, clock.elapsed())
        self._standing = StandingProcesses(settings, ancestors())
        self._switch = DeadManSwitch()
        self._ended = threading.Event()

    def start(self) -> None:
        """Start to speak and to listen."""
        self._client.limit_sending(self._settings.timeout / 1000)
        self._arm()
        for call, name in ((self._speak, "penstock heartbeat"), (self._watch, "penstock driver watch")):
            threading.Thread(target=call, name=name, daemon=True).start()

    def heard(self) -> None:
        """Take note that the driver has said something."""
        self._driver.heard(_DRIVER, self._clock.elapsed())

    def close(self) -> None:
        """Speak and listen no more."""
        self._ended.set()
        self._switch.close()

    def _arm(self) -> None:
        self._switch.arm(self._settings.timeout + _GRACE_MILLIS)

    def _speak(self) -> None:
        while not self._ended.wait(self._settings.interval / 1000):
            self._client.send(Heartbeat(self._busy.look(self._clock.elapsed())))

    def _watch(self) -> None:
        while not self._ended.wait(self._settings.look_millis / 1000):
            self._arm()
            now = self._clock.elapsed()
            verdict = self._driver.look(now)
            if verdict.pause:
                self._give_up(
                    f"its process did not run for {verdict.pause / 1000:.1f} s, and the driver has given it up"
                )
                return
            if verdict.silent:
                self._give_up(f"the driver has not been heard of for {self._settings.timeout / 1000:g} s")
                return
            for process in self._standing.look(now):
                self._end_standing(process)

    def _give_up(self, reason: str) -> None:
        _log.error("the task ends: %s (heartbeat.timeout)", reason)
        self._client.hang_up()

    def _end_standing(self, process: int) -> None:
        """End a process that this worker needs and that was stopped; Spark starts another one."""
        message = (
            f"Process {process}, which runs the executor of this worker, was stopped and stood still for more than"
            f" {self._settings.timeout / 1000:g} s (heartbeat.timeout). It was ended."
        )
        _log.error("%s", message)
        self._client.send(Failed(WorkerLostError(message), ""))
        try:
            os.kill(process, signal.SIGKILL)
        except OSError as error:
            _log.error("process %d cannot be ended: %s", process, error)
