"""Has the system end this process if nobody says in time that it still runs.

A process that was stopped (SIGSTOP, a frozen session) ends itself by nothing that runs in it, and whoever could end it
may be on another machine. A timer of the system whose signal is SIGKILL does.
"""

from __future__ import annotations

import ctypes
import signal
import sys

__all__ = ["DeadManSwitch"]

_CLOCK_MONOTONIC = 1
_SIGEV_SIGNAL = 0


class _Event(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Timer(ctypes.Structure):
    _fields_ = (("interval", _Time), ("value", _Time))


class DeadManSwitch:
    """One timer of this process, which children do not inherit; elsewhere than on Linux it does nothing."""

    def __init__(self) -> None:
        self._timer: ctypes.c_void_p | None = None
        if sys.platform != "linux":
            return
        self._library = ctypes.CDLL(None)
        timer, event = ctypes.c_void_p(), _Event(None, signal.SIGKILL, _SIGEV_SIGNAL, b"")
        try:
            is_made = self._library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0
        except AttributeError:  # a C library without timers
            is_made = False
        if is_made:
            self._timer = timer

    @property
    def is_working(self) -> bool:
        """Tell whether the system has such timers."""
        return self._timer is not None

    def arm(self, millis: int) -> None:
        """End the process so many milliseconds from now, unless this is called again before; 0 is never."""
        if self._timer is not None:
            when = _Timer(_Time(0, 0), _Time(millis // 1000, millis % 1000 * 1_000_000))
            self._library.timer_settime(self._timer, 0, ctypes.byref(when), None)

    def close(self) -> None:
        """Let the process live."""
        if self._timer is not None:
            self._library.timer_delete(self._timer)
            self._timer = None
