"""Makes a savepoint: a new one from rows, or another version of one that exists."""

from __future__ import annotations

import secrets
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from penstock.checkpoint.metadata import METADATA, CheckpointMetadata, OperatorInfo, OperatorMetadata
from penstock.checkpoint.snapshot_storage import FileTarget
from penstock.checkpoint.subtask_state import OperatorState
from penstock.errors import CheckpointError, ProgramError
from penstock.foundation.clock import SystemClock
from penstock.foundation.files.by_uri import files_of
from penstock.foundation.keys.groups import key_group_of, key_group_range
from penstock.savepoints.keyed_state import open_keyed_state
from penstock.statestore.handles import ENTRIES, KeyedStateHandle, StoredBytes
from penstock.statestore.operator_state import OperatorStateSnapshot
from penstock.statestore.snapshot_format import (
    BATCH_ENTRIES,
    EVENT_TIME,
    PROCESSING_TIME,
    KeyedStateWriter,
    StateInfo,
    Timer,
)
from penstock.statestore.state_kinds import KINDS, kind_of
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.statestore.value_codec import PROGRAM_CLASSES
from penstock.vocabulary.settings.modes import CheckpointKind
from penstock.vocabulary.state.descriptors import StateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from penstock.savepoints.savepoint import Savepoint
    from penstock.statestore.snapshot_format import Columns
    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["SavepointEditor"]

_Entries = dict[tuple[Any, Any], Any]
"""By namespace and key."""


@dataclass
class _Operator:
    """The content of one operator, to be changed."""

    info: OperatorInfo
    states: dict[StateInfo, _Entries] = field(default_factory=dict)
    timers: list[Timer] = field(default_factory=list)
    subtasks: dict[int, OperatorState] = field(default_factory=dict)
    """Operator state and what the operator keeps for itself."""

    def entries(self, state: str) -> tuple[StateInfo, _Entries] | None:
        for info, entries in self.states.items():
            if info.name == state:
                return info, entries
        return None


class SavepointEditor:
    """Holds state in memory, changes it and writes it as a savepoint.

    Example::

        editor = SavepointEditor()
        editor.add_operator("sums")
        editor.put("sums", ValueStateDescriptor("total"), key="a", value=3)
        path = editor.write("file:///savepoints")

    Args:
        savepoint: What to start with, nothing if not given; if it holds objects of the program's classes, one that was
            loaded with ``unpickle=True``.
    """

    def __init__(self, savepoint: Savepoint | None = None) -> None:
        self._operators: dict[str, _Operator] = {}
        self._checkpoint_id = 0
        self._classes: StoredClasses = PROGRAM_CLASSES
        if savepoint is not None:
            self._checkpoint_id = savepoint.metadata.checkpoint_id
            self._classes = savepoint.files.classes
            for operator, content in savepoint.metadata.operators.items():
                if content.in_flight:
                    message = (
                        f"{savepoint.location} is an unaligned checkpoint and holds records in flight, which cannot be"
                        " edited. Start the job from it and take a savepoint."
                    )
                    raise CheckpointError(message)
                self._operators[operator] = _load(savepoint, operator, content)

    def operators(self) -> list[str]:
        """Return the operators."""
        return list(self._operators)

    def add_operator(self, operator: str, *, name: str | None = None, max_parallelism: int = 128) -> None:
        """Add an operator without state; ``max_parallelism`` must be that of the step in the program."""
        if operator in self._operators:
            message = f"There is an operator {operator!r} already."
            raise ProgramError(message)
        self._operators[operator] = _Operator(OperatorInfo(name or operator, 1, max_parallelism))

    def rename_operator(self, operator: str, new: str) -> None:
        """Give the state of an operator to a step with another uid."""
        content = self._operator(operator)
        if new in self._operators:
            message = f"There is an operator {new!r} already; drop it first."
            raise ProgramError(message)
        self._operators = {new if each is content else key: each for key, each in self._operators.items()}

    def drop_operator(self, operator: str) -> None:
        """Forget all state of an operator: its step will start empty."""
        self._operator(operator)
        del self._operators[operator]

    def drop_state(self, operator: str, state: str) -> None:
        """Forget one keyed state of an operator."""
        content = self._operator(operator)
        content.states = {info: entries for info, entries in content.states.items() if info.name != state}

    def put(self, operator: str, state: str | StateDescriptor, *, key: Any, value: Any, namespace: Any = None) -> None:
        """Set the content of a keyed state for a key: a list for a list, a dict for a map, an accumulator.

        Args:
            operator: The uid of the step.
            state: A descriptor, or the name of a state that exists.
            key: The key.
            value: The content.
            namespace: The window, for state that belongs to windows.
        """
        self._entries(operator, state)[namespace, key] = value

    def delete(self, operator: str, state: str | StateDescriptor, *, key: Any, namespace: Any = None) -> None:
        """Forget the content of a keyed state for a key."""
        self._entries(operator, state).pop((namespace, key), None)

    def map(self, operator: str, state: str | StateDescriptor, function: Callable[[Any, Any], Any]) -> None:
        """Replace every value of a keyed state by ``function(key, value)``; ``None`` forgets the entry."""
        entries = self._entries(operator, state)
        for (namespace, key), value in list(entries.items()):
            changed = function(key, value)
            if changed is None:
                del entries[namespace, key]
            else:
                entries[namespace, key] = changed

    def add_timer(
        self,
        operator: str,
        *,
        key: Any,
        timestamp: int,
        namespace: Any = None,
        domain: Literal["event", "processing"] = "event",
    ) -> None:
        """Add a timer of event time or processing time."""
        kind = EVENT_TIME if domain == "event" else PROCESSING_TIME
        self._operator(operator).timers.append(Timer(timestamp, key, namespace, kind))

    def delete_timers(self, operator: str, *, key: Any) -> None:
        """Delete all timers of a key."""
        content = self._operator(operator)
        content.timers = [timer for timer in content.timers if timer.key != key]

    def set_operator_state(
        self, operator: str, state: str, content: Any, *, kind: Literal["list", "union", "broadcast"] = "list"
    ) -> None:
        """Set operator state: the elements of a list or union list, or the map of broadcast state."""
        found = self._operator(operator)
        for subtask in range(found.info.parallelism):
            former = found.subtasks.get(subtask, OperatorState())
            known = (
                OperatorStateSnapshot() if former.operator is None else former.operator.decode(operator, self._classes)
            )
            changed = OperatorStateSnapshot(dict(known.lists), dict(known.unions), dict(known.broadcasts))
            if kind == "broadcast":
                changed.broadcasts[state] = dict(content)
            else:
                lists = changed.lists if kind == "list" else changed.unions
                lists[state] = list(content)[subtask :: found.info.parallelism]
            found.subtasks[subtask] = OperatorState((), StoredOperatorState.encode(changed, subtask), former.own)

    def write(self, directory: str | Path) -> str:
        """Write a savepoint below a directory and return its path."""
        job = secrets.token_hex(16)
        location = f"{str(directory).rstrip('/')}/savepoint-{job[:6]}-{secrets.token_hex(6)}"
        files, path = files_of(location)
        target = FileTarget(files, path, is_savepoint=True)
        operators = {
            operator: OperatorMetadata(
                content.info,
                {subtask: _stored(operator, content, subtask, target) for subtask in range(content.info.parallelism)},
            )
            for operator, content in self._operators.items()
        }
        metadata = CheckpointMetadata(
            job, self._checkpoint_id, SystemClock().now(), CheckpointKind.SAVEPOINT, operators
        )
        files.publish(f"{path}/{METADATA}", metadata.encode())
        return location

    def _operator(self, operator: str) -> _Operator:
        found = self._operators.get(operator)
        if found is None:
            known = ", ".join(self._operators) or "none"
            message = f"There is no operator {operator!r}, only {known}; add_operator() makes one."
            raise ProgramError(message)
        return found

    def _entries(self, operator: str, state: str | StateDescriptor) -> _Entries:
        content = self._operator(operator)
        name = state.get_name() if isinstance(state, StateDescriptor) else state
        found = content.entries(name)
        if found is not None:
            info, entries = found
            if isinstance(state, StateDescriptor) and kind_of(state) != info.kind:
                message = f"The state {name!r} of {operator!r} is described by a {KINDS[info.kind].__name__}."
                raise ProgramError(message)
            return entries
        if not isinstance(state, StateDescriptor):
            message = f"The operator {operator!r} has no state {name!r} yet: give its descriptor instead of its name."
            raise ProgramError(message)
        ttl = state.ttl_config
        info = StateInfo(name, kind_of(state), None if ttl is None else ttl.ttl_millis)
        return content.states.setdefault(info, {})


def _load(savepoint: Savepoint, operator: str, content: OperatorMetadata) -> _Operator:
    loaded = _Operator(content.info)
    for subtask, state in content.subtasks.items():
        # Files are those of the old savepoint; their bytes go with the new one.
        own = tuple(_inline(savepoint.files.read(each)) for each in state.own)
        loaded.subtasks[subtask] = OperatorState((), state.operator, own)
        for handle in state.keyed:
            with open_keyed_state(handle, savepoint.files, operator, content.info.max_parallelism) as readers:
                for reader in readers:
                    for _, info, (namespaces, keys, values) in reader.read(handle.key_groups):
                        names = [None] * len(keys) if namespaces is None else namespaces
                        entries = loaded.states.setdefault(info, {})
                        entries.update(zip(zip(names, keys, strict=True), values, strict=True))
                    loaded.timers.extend(reader.read_timers(handle.key_groups))
    return loaded


def _inline(data: bytes) -> StoredBytes:
    return StoredBytes(None, len(data), zlib.crc32(data), data)


def _stored(operator: str, content: _Operator, subtask: int, target: FileTarget) -> OperatorState:
    """Write the key groups of a subtask and return its state."""
    info = content.info
    rest = content.subtasks.get(subtask, OperatorState())
    if not content.states and not content.timers:
        return OperatorState((), rest.operator, rest.own)
    groups = key_group_range(subtask, info.parallelism, info.max_parallelism)
    states: dict[int, dict[StateInfo, list[tuple[Any, Any, Any]]]] = defaultdict(lambda: defaultdict(list))
    for state, entries in content.states.items():
        for (namespace, key), value in entries.items():
            group = key_group_of(key, info.max_parallelism)
            if group in groups:
                states[group][state].append((namespace, key, value))
    timers: dict[int, list[Timer]] = defaultdict(list)
    for timer in content.timers:
        timers[key_group_of(timer.key, info.max_parallelism)].append(timer)
    output = target.create(operator, checks_itself=True)
    writer = KeyedStateWriter(
        lambda parts: output.write(*parts), operator=operator, max_parallelism=info.max_parallelism
    )
    for group in groups:
        writer.write_group(group, [(state, _batches(rows)) for state, rows in states[group].items()], timers[group])
    writer.finish()
    return OperatorState(
        (KeyedStateHandle(groups.start, groups.stop, ENTRIES, (("", output.finish()),)),), rest.operator, rest.own
    )


def _batches(rows: list[tuple[Any, Any, Any]]) -> Iterator[Columns]:
    for start in range(0, len(rows), BATCH_ENTRIES):
        part = rows[start : start + BATCH_ENTRIES]
        namespaces = [row[0] for row in part]
        keys, values = [row[1] for row in part], [row[2] for row in part]
        yield (None if all(each is None for each in namespaces) else namespaces), keys, values
