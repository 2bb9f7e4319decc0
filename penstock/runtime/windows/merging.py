"""The windows of a key that can grow together, and where the contents of each of them are.

When windows merge, contents need not move: the merged window goes on using the state of one of its parts, its *state
window*. The pairs of window and state window are themselves keyed state, a list per key, so that a snapshot finds them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.state.descriptors import ListStateDescriptor
from penstock.vocabulary.windows.assigners import MergingWindowAssigner
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.windows import TimeWindow

if TYPE_CHECKING:
    from penstock.statestore.backend import KeyContext, KeyedStateBackend

__all__ = ["MergingWindows", "OnMerge", "SessionWindows", "merging_windows_of"]

OnMerge = Callable[[Any, Sequence[Any], Any, Sequence[Any]], None]
"""Called with the new window, those it replaces, its state window and the state windows that flow into that."""

_STATE: ListStateDescriptor[Any] = ListStateDescriptor("merging-window-set")
_Pair = tuple[Any, Any]


class MergingWindows:
    """The windows of the current key under any merging assigner."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], backend: KeyedStateBackend, keys: KeyContext) -> None:
        self._assigner = assigner
        self._keys = keys
        self._state = backend.list_state(_STATE)
        self._entries: dict[Any, list[_Pair]] | None = (
            backend.entries(_STATE) if isinstance(backend, HeapStateBackend) else None
        )

    def add(self, window: Any, on_merge: OnMerge) -> _Pair:
        """Add a window; return the window it has become a part of and the state window of that."""
        known: dict[Any, Any] = dict(self._load())
        groups = _MergedGroups()
        self._assigner.merge_windows([*known, window], groups)
        result = window
        for merged_window, parts in groups.found:
            replaced = [part for part in parts if part in known]
            if window in parts:
                result = merged_window
            if not replaced:
                continue
            state_window, *other_state_windows = [known.pop(part) for part in replaced]
            known[merged_window] = state_window
            if replaced != [merged_window]:
                on_merge(merged_window, replaced, state_window, other_state_windows)
        state_window = known.setdefault(result, result)
        self._store(list(known.items()))
        return result, state_window

    def state_window(self, window: Any) -> Any | None:
        """Return where the contents of a window are, ``None`` if there is no such window any more."""
        return next((state_window for known, state_window in self._load() if known == window), None)

    def retire(self, window: Any) -> None:
        """Forget a window."""
        self._store([pair for pair in self._load() if pair[0] != window])

    def _load(self) -> list[_Pair]:
        if self._entries is None:
            return list(self._state.get() or ())
        found = self._entries.get(self._keys.key)
        return [] if found is None else found

    def _store(self, pairs: list[_Pair]) -> None:
        if self._entries is None:
            self._state.update(pairs)
        elif pairs:
            self._entries[self._keys.key] = pairs
        else:
            self._entries.pop(self._keys.key, None)


class SessionWindows(MergingWindows):
    """The sessions of the current key, in the order of time.

    Sessions of a key neither overlap nor touch, so those that a new window reaches are neighbours: they are found by
    bisection, however many sessions are open.
    """

    def add(self, window: TimeWindow, on_merge: OnMerge) -> _Pair:
        """Add a window; return the session it belongs to and the state window of that."""
        pairs = self._load()
        start, end = window
        first = last = bisect_left(pairs, (window,))
        if first and pairs[first - 1][0][1] >= start:
            first -= 1
        while last < len(pairs) and pairs[last][0][0] <= end:
            last += 1
        if first == last:
            pair = (window, window)
            pairs.insert(first, pair)
            self._store(pairs)
            return pair
        pair = pairs[first]
        known, state_window = pair
        if last - first == 1 and known[0] <= start and end <= known[1]:
            return pair
        replaced = pairs[first:last]
        session = TimeWindow(min(start, known[0]), max(end, replaced[-1][0][1]))
        pair = (session, state_window)
        pairs[first:last] = [pair]
        self._store(pairs)
        on_merge(session, [part for part, _ in replaced], state_window, [state for _, state in replaced[1:]])
        return pair

    def by_key(self) -> dict[Any, list[_Pair]]:
        """Return the live sessions of all keys as pairs of window and state window; heap state only."""
        assert self._entries is not None
        return self._entries

    def session_of(self, state_window: TimeWindow) -> TimeWindow | None:
        """Return the session whose contents are in a state window, ``None`` if there is none any more."""
        pairs = self._load()
        # A state window was the session once, and a session only grows: it starts with or before its state window.
        position = bisect_left(pairs, ((state_window.start + 1,),)) - 1
        if position >= 0 and pairs[position][1] == state_window:
            session: TimeWindow = pairs[position][0]
            return session
        return None

    def state_window(self, window: TimeWindow) -> TimeWindow | None:
        """Return where the contents of a session are, ``None`` if it has become another one or is over."""
        pairs = self._load()
        position = bisect_left(pairs, (window,))
        if position < len(pairs) and pairs[position][0] == window:
            state_window: TimeWindow = pairs[position][1]
            return state_window
        return None

    def retire(self, window: TimeWindow) -> None:
        """Forget a session."""
        pairs = self._load()
        position = bisect_left(pairs, (window,))
        if position < len(pairs) and pairs[position][0] == window:
            del pairs[position]
            self._store(pairs)


class _MergedGroups(MergingWindowAssigner.MergeCallback[Any]):
    """Notes which windows an assigner wants merged."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Take note of a group, each window once."""
        self.found.append((merge_result, list(dict.fromkeys(to_be_merged))))


def merging_windows_of(
    assigner: MergingWindowAssigner[Any, Any], backend: KeyedStateBackend, keys: KeyContext
) -> MergingWindows:
    """Return the set of windows that suits an assigner."""
    # Every built-in session assigner shares this one method; a subclass with a rule of its own does not.
    is_session = type(assigner).merge_windows is EventTimeSessionWindows.merge_windows
    return (SessionWindows if is_session else MergingWindows)(assigner, backend, keys)
