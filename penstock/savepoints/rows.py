"""State as rows: one for each key of a state, each timer, each element of operator state."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any, NamedTuple

from penstock.statestore.inert_values import OpaqueClass, OpaqueValue

__all__ = ["BROADCAST", "EVENT_TIMER", "OPERATOR_LIST", "OWN", "PROCESSING_TIMER", "TIMERS", "UNION_LIST", "StateRow"]

TIMERS = "timers"
"""What stands for the name of a state in rows of timers."""
EVENT_TIMER = "event-time timer"
PROCESSING_TIMER = "processing-time timer"
OPERATOR_LIST = "operator list"
UNION_LIST = "union list"
BROADCAST = "broadcast"
OWN = "own"
"""The kind of what Penstock's operators keep for themselves, such as the positions of a source."""


class StateRow(NamedTuple):
    """One entry of state.

    Attributes:
        operator: The uid of the step, or the id that stands for it.
        state: The name of the state.
        kind: ``value``, ``list``, ``map``, ``reducing`` or ``aggregating`` for keyed state; ``operator list``,
            ``union list`` or ``broadcast`` for operator state; ``event-time timer`` or ``processing-time timer``;
            ``own`` for what Penstock's operators keep for themselves, such as the positions of a source.
        key: The key; for a broadcast map, the key in the map; for other operator state ``None``.
        namespace: The window of state that belongs to windows, else ``None``.
        value: The content: a list for a list, a dict for a map, the accumulator of an aggregating state, the time of a
            timer.
        subtask: The subtask that operator state comes from, ``None`` for keyed state.
    """

    operator: str
    state: str
    kind: str
    key: Any
    namespace: Any
    value: Any
    subtask: int | None = None

    def to_json(self) -> str:
        """Return the row as one line of JSON.

        Tuples and sets become lists, bytes ``{"base64": ...}``, a dict whose keys are not all strings a list of pairs,
        objects the dict of their attributes; anything else its text.
        """
        return json.dumps({name: _plain(value) for name, value in self._asdict().items()}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(each) for key, each in value.items()}
        return [[_plain(key), _plain(each)] for key, each in value.items()]
    if isinstance(value, OpaqueValue):
        return _plain_opaque(value)
    if isinstance(value, OpaqueClass):
        return value.name
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and attributes:
        return {name.lstrip("_"): _plain(each) for name, each in attributes.items()}
    return str(value)


def _plain_opaque(value: OpaqueValue) -> Any:
    """Return what the object itself would have been, where its attributes say all of it."""
    known = value.attributes()
    if known is not None:
        return {name.lstrip("_"): _plain(each) for name, each in known.items()}
    parts = {"arguments": value.arguments, "state": value.stored_state, "elements": value.elements}
    return {"class": value.stored_class.name, **{name: _plain(part) for name, part in parts.items() if part}}
