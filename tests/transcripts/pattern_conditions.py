"""The conditions of the patterns in transcripts."""

from __future__ import annotations

from typing import Any


def _jump(reading: Any, ctx: Any) -> bool:
    return any(abs(reading[2] - earlier[2]) > 20 for earlier in ctx.get_events_for_pattern("one"))


def _higher(reading: Any, ctx: Any) -> bool:
    before = [*ctx.get_events_for_pattern("first"), *ctx.get_events_for_pattern("higher")]
    return bool(before[-1][2] < reading[2])


CONDITIONS: dict[str, Any] = {
    "fail": lambda login: login[1] == "F",
    "small": lambda payment: payment[1] < 1,
    "big": lambda payment: payment[1] > 500,
    "created": lambda order: order[1] == "created",
    "paid": lambda order: order[1] == "paid",
    "login": lambda action: action[1] == "login",
    "order": lambda action: action[1] == "order",
    "pay": lambda action: action[1] == "pay",
    "one": None,
    "two": _jump,
    "first": None,
    "higher": _higher,
}
