"""A savepoint or checkpoint that is looked at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.storage import load_checkpoint, remove_snapshot
from penstock.errors import CheckpointError
from penstock.foundation.files.by_uri import files_of
from penstock.savepoints.keyed_state import open_keyed_state
from penstock.savepoints.rows import (
    BROADCAST,
    EVENT_TIMER,
    OPERATOR_LIST,
    OWN,
    PROCESSING_TIMER,
    TIMERS,
    UNION_LIST,
    StateRow,
)
from penstock.statestore.inert_values import InertClasses
from penstock.statestore.snapshot_format import EVENT_TIME
from penstock.statestore.stored_classes import StoredClasses
from penstock.statestore.value_codec import load_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from penstock.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
    from penstock.checkpoint.snapshot_storage import StoredFiles
    from penstock.checkpoint.subtask_state import OperatorState
    from penstock.statestore.handles import KeyedStateHandle, StateFiles, StoredBytes

__all__ = ["OperatorSummary", "Savepoint", "StateSummary", "delete_savepoint", "operator_rows"]


@dataclass(frozen=True)
class StateSummary:
    """One state of an operator: its name, its kind and how many rows it has."""

    name: str
    kind: str
    rows: int


@dataclass(frozen=True)
class OperatorSummary:
    """One operator of a savepoint."""

    operator: str
    name: str
    parallelism: int
    max_parallelism: int
    size: int
    """Bytes of keyed state and of records in flight."""
    states: tuple[StateSummary, ...]


class Savepoint:
    """The content of a savepoint or checkpoint.

    Looking at it runs no code: of objects of the program's classes only what is stored of them is known, see
    :class:`~penstock.statestore.inert_values.OpaqueValue`. A savepoint that you trust as much as a program can be
    loaded with ``unpickle=True``: objects are then read with the program's classes where they can be imported, and with
    the definitions that the savepoint holds where they cannot.

    Example::

        savepoint = Savepoint.load("file:///savepoints/savepoint-4f44e0-0123456789ab")
        for row in savepoint.rows(operator="sums", state="total"):
            print(row.key, row.value)
    """

    def __init__(self, location: str, metadata: CheckpointMetadata, files: StoredFiles) -> None:
        self.location = location
        self.metadata = metadata
        self.files = files

    @staticmethod
    def load(location: str | Path, *, unpickle: bool = False, renamed: Mapping[str, str] | None = None) -> Savepoint:
        """Open a savepoint or checkpoint by its directory or its ``_metadata`` file.

        Args:
            location: The directory or the file.
            unpickle: Whether to make objects of the program's classes, which runs code of theirs, and code that the
                savepoint itself holds.
            renamed: With ``unpickle``: new names of classes or modules by the old ones.

        Raises:
            CheckpointError: There is none.
            CorruptCheckpointError: A file of it is missing, truncated or damaged.
        """
        classes = StoredClasses(renamed) if unpickle else InertClasses()
        return Savepoint(str(location), *load_checkpoint(str(location), files_of, classes))

    def operators(self) -> list[OperatorSummary]:
        """Return what the savepoint holds, operator by operator, without a look at the values."""
        summaries = []
        for operator, content in self.metadata.operators.items():
            counts = self._counts(operator, content)
            stored = [stored for state in content.subtasks.values() for each in state.keyed for _, stored in each.files]
            summaries.append(
                OperatorSummary(
                    operator,
                    content.info.name,
                    content.info.parallelism,
                    content.info.max_parallelism,
                    sum(each.size for each in [*stored, *content.in_flight.values()]),
                    tuple(StateSummary(name, kind, rows) for (name, kind), rows in counts.items()),
                )
            )
        return summaries

    def rows(self, *, operator: str | None = None, state: str | None = None) -> Iterator[StateRow]:
        """Return the state of all operators, or one, as rows; all states of them, or one."""
        if operator is not None and operator not in self.metadata.operators:
            known = ", ".join(self.metadata.operators) or "none"
            message = f"{self.location} has no operator {operator!r}; it has {known}."
            raise CheckpointError(message)
        for name, content in self.metadata.operators.items():
            if operator is None or name == operator:
                for row in self._rows_of(name, content):
                    if state is None or row.state == state:
                        yield row

    def json_lines(self, *, operator: str | None = None, state: str | None = None) -> Iterator[str]:
        """Return the same rows as lines of JSON, for programs that do not know Penstock."""
        return (row.to_json() for row in self.rows(operator=operator, state=state))

    def to_data_frame(self, spark: Any = None, *, operator: str | None = None, state: str | None = None) -> Any:
        """Return the rows as a Spark DataFrame; executors read the state when the frame is used.

        Its columns are those of :class:`StateRow`; key, namespace and value are JSON.

        Args:
            spark: The session, the active one if not given.
            operator: Only this operator.
            state: Only this state.
        """
        from penstock.execution.spark.driver.savepoint_frame import savepoint_frame

        parts: list[tuple[str, int, KeyedStateHandle | None]] = []
        for name, content in self.metadata.operators.items():
            if operator is None or name == operator:
                for subtask, found in sorted(content.subtasks.items()):
                    parts += [(name, subtask, handle) for handle in found.keyed]
                    parts.append((name, subtask, None))
        return savepoint_frame(parts, self._rows_of_part, spark, state=state)

    def _rows_of_part(self, part: tuple[str, int, KeyedStateHandle | None]) -> Iterator[StateRow]:
        operator, subtask, handle = part
        if handle is not None:
            return self.keyed_rows(operator, handle)
        return operator_rows(operator, subtask, self.metadata.operators[operator].subtasks[subtask], self.files)

    def _counts(self, operator: str, content: OperatorMetadata) -> Counter[tuple[str, str]]:
        """Return how many rows there are of each state, by its name and kind."""
        counts: Counter[tuple[str, str]] = Counter()
        for _, state in sorted(content.subtasks.items()):
            for handle in state.keyed:
                with open_keyed_state(handle, self.files, operator, content.info.max_parallelism) as readers:
                    for reader in readers:
                        for info, number in reader.counts():
                            counts[info.name, info.kind] += number
                        for kind, number in zip((EVENT_TIMER, PROCESSING_TIMER), reader.timers, strict=True):
                            counts[TIMERS, kind] += number
            if state.operator is not None:
                for kind, stored in (
                    (OPERATOR_LIST, state.operator.content.lists),
                    (UNION_LIST, state.operator.content.unions),
                    (BROADCAST, state.operator.content.broadcasts),
                ):
                    for name, elements in stored.items():
                        counts[name, kind] += len(elements)
            counts[OWN, OWN] += len(state.own)
        return +counts

    def _rows_of(self, operator: str, content: OperatorMetadata) -> Iterator[StateRow]:
        for subtask, state in sorted(content.subtasks.items()):
            for handle in state.keyed:
                yield from self.keyed_rows(operator, handle)
            yield from operator_rows(operator, subtask, state, self.files)

    def keyed_rows(self, operator: str, handle: KeyedStateHandle) -> Iterator[StateRow]:
        """Return what one handle of keyed state points to: states first, then timers."""
        info = self.metadata.operators[operator].info
        with open_keyed_state(handle, self.files, operator, info.max_parallelism) as readers:
            for reader in readers:
                for _, state, (namespaces, keys, values) in reader.read(handle.key_groups):
                    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
                        namespace = None if namespaces is None else namespaces[number]
                        yield StateRow(operator, state.name, state.kind, key, namespace, value)
                for timer in reader.read_timers(handle.key_groups):
                    kind = EVENT_TIMER if timer.domain == EVENT_TIME else PROCESSING_TIMER
                    yield StateRow(operator, TIMERS, kind, timer.key, timer.namespace, timer.timestamp)


def operator_rows(operator: str, subtask: int, state: OperatorState, files: StateFiles) -> Iterator[StateRow]:
    """Return operator state of one subtask, and what the operator keeps for itself."""
    if state.operator is not None:
        content = state.operator.decode(operator, files.classes)
        for kind, lists in ((OPERATOR_LIST, content.lists), (UNION_LIST, content.unions)):
            for name, elements in lists.items():
                for element in elements:
                    yield StateRow(operator, name, kind, None, None, element, subtask)
        for name, entries in content.broadcasts.items():
            for key, value in entries.items():
                yield StateRow(operator, name, BROADCAST, key, None, value, subtask)
    for own in state.own:
        yield StateRow(operator, OWN, OWN, None, None, _read_own(own, files), subtask)


def _read_own(stored: StoredBytes, files: StateFiles) -> Any:
    own = files.read(stored)
    try:
        return load_value(own, files.classes)
    except Exception:  # whatever the classes of a connector raise
        return own


def delete_savepoint(location: str | Path) -> None:
    """Remove a savepoint, or a checkpoint that no job uses any more, with its directory.

    Files that a checkpoint shares with others stay.

    Raises:
        CheckpointError: There is no savepoint: nothing else is ever removed.
    """
    remove_snapshot(str(location), files_of)
