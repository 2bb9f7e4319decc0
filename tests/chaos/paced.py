"""Makes input last: so many records per second."""

from __future__ import annotations

import time
from typing import Any

from penstock import MapFunction

__all__ = ["Paced"]


class Paced(MapFunction):
    """Passes so many records per second."""

    def __init__(self, per_second: int) -> None:
        self.per_second = per_second

    def open(self, runtime_context: Any) -> None:
        self.started = time.monotonic()
        self.passed = 0

    def map(self, value: Any) -> Any:
        self.passed += 1
        ahead = self.passed / self.per_second - (time.monotonic() - self.started)
        if ahead > 0.01:
            time.sleep(ahead)
        return value
