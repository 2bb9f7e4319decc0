"""The step of asynchronous requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.steps import Step

__all__ = ["AsyncWaitStep"]


@dataclass(frozen=True, kw_only=True)
class AsyncWaitStep(Step):
    """Answers each record with a coroutine, many of which run at the same time."""

    function: Any
    timeout: int
    """Milliseconds for all attempts of a record; 0: for ever."""
    capacity: int
    """How many records may be without an answer."""
    retry_strategy: Any
    is_ordered: bool
