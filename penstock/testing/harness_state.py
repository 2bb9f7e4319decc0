"""Looks at the state and the timers of an operator, without disturbing it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from penstock.runtime.windows.operator import WindowOperator
from penstock.statestore.expiry import EXPIRY_SUFFIX
from penstock.statestore.snapshot_format import EVENT_TIME, BytesInput, KeyedStateReader
from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

if TYPE_CHECKING:
    from penstock.runtime.operators.operator import Operator
    from penstock.runtime.task.context import OperatorContext
    from penstock.vocabulary.state.descriptors import StateDescriptor

__all__ = ["content_of", "entry_counts", "operator_content", "timers_of"]


def content_of(context: OperatorContext, descriptor: StateDescriptor, key: Any, namespace: Any) -> Any:
    """Return the content of a keyed state as plain data."""
    backend = context.keyed_state()
    if key not in backend.keys(descriptor.get_name(), namespace):
        return _empty(descriptor)
    current = context.keys.current()
    context.keys.key = key
    try:
        state = backend.state(descriptor, namespace)
        if isinstance(descriptor, ValueStateDescriptor):
            return state.value()
        if isinstance(descriptor, ListStateDescriptor):
            return list(state.get() or ())
        if isinstance(descriptor, MapStateDescriptor):
            return dict(state.items())
        return state.get()
    finally:
        context.keys.restore(current)


def operator_content(context: OperatorContext, descriptor: StateDescriptor) -> Any:
    """Return what broadcast state (for a map descriptor) or a list of the operator state holds."""
    state, name = context.operator_state.snapshot(), descriptor.get_name()
    if isinstance(descriptor, MapStateDescriptor):
        return state.broadcasts.get(name, {})
    return state.lists.get(name) or state.unions.get(name, [])


def entry_counts(operator: Operator) -> Counter[str]:
    """Return per state for how many keys, and windows of them, there is content."""
    context = operator.context
    counts: Counter[str] = Counter()
    if context.state is None:
        return counts
    current = context.keys.current()
    operator.prepare_snapshot(0)  # a join keeps its records beside the state until then
    context.keys.restore(current)
    groups = range(context.info.max_parallelism)
    parts: list[bytes] = []
    context.state.snapshot(groups, len(groups)).encode(parts.extend)
    for _, info, (_, keys, _) in KeyedStateReader(BytesInput(b"".join(parts))).read(groups):
        if not info.name.endswith(EXPIRY_SUFFIX):
            counts[info.name] += len(keys)
    return counts


def timers_of(operator: Operator, domain: int) -> list[tuple[int, Any, Any]]:
    """Return the timers of a kind of time as ``(timestamp, key, namespace)``, the next first."""
    if domain == EVENT_TIME and isinstance(operator, WindowOperator):
        return operator.event_timers()
    found = [timer for timer in operator.snapshot_timers() if timer.domain == domain]
    return sorted(((timer.timestamp, timer.key, timer.namespace) for timer in found), key=lambda timer: timer[0])


def _empty(descriptor: StateDescriptor) -> Any:
    if isinstance(descriptor, ListStateDescriptor):
        return []
    if isinstance(descriptor, MapStateDescriptor):
        return {}
    return descriptor.default_value if isinstance(descriptor, ValueStateDescriptor) else None
