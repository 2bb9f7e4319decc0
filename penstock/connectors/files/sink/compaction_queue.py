"""The closed files of one subtask that wait until there are enough of them to be compacted.

Why compaction loses and repeats nothing: a file that waits is part of the writer's state and under its hidden name.
What is made of several is committed like any other file, and only its commit deletes them. A crash before that finds
them waiting in the restored checkpoint; the half-made file is one that no checkpoint knows, and the writer removes it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from penstock.connectors.files.sink.compaction import (
    IdenticalFileCompactor,
    OutputStreamBasedFileCompactor,
    RecordWiseFileCompactor,
)
from penstock.connectors.files.sink.rolling_policy import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
    from penstock.connectors.files.sink.part_format import PartFormat
    from penstock.connectors.files.sink.part_storage import PartStorage
    from penstock.connectors.files.sink.state import OpenPart, PendingPart

__all__ = ["CompactionQueue"]

_RECORDS_AT_A_TIME = 1000


@dataclass
class _Group:
    """The waiting files of a bucket, in the order of their records."""

    parts: list[PendingPart]
    checkpoints: int = 0


class CompactionQueue:
    """Holds back files and lets them go compacted.

    Args:
        strategy: When a bucket's files are compacted.
        compactor: How.
        storage: Where the files are.
        part_format: The sink's format, for compactors that write records.
        place_for: Gives the place of the file that several are made into, by the first of them.
    """

    def __init__(
        self,
        strategy: FileCompactStrategy,
        compactor: FileCompactor,
        storage: PartStorage,
        part_format: PartFormat,
        place_for: Callable[[PendingPart], OpenPart],
    ) -> None:
        self._strategy = strategy
        self._compactor = compactor
        self._storage = storage
        self._format = part_format
        self._place_for = place_for
        self._groups: dict[str, _Group] = {}

    def restore(self, waiting: Iterable[tuple[int, tuple[PendingPart, ...]]]) -> None:
        """Take back what waited when a checkpoint was taken."""
        for checkpoints, parts in waiting:
            group = self._groups.setdefault(parts[0].bucket, _Group([], checkpoints))
            group.parts += parts

    def state(self) -> tuple[tuple[int, tuple[PendingPart, ...]], ...]:
        """Return what waits."""
        return tuple((group.checkpoints, tuple(group.parts)) for group in self._groups.values())

    def exchange(self, closed: list[PendingPart], *, end_of_input: bool) -> list[PendingPart]:
        """Take the files that were closed since the last checkpoint, return those to be committed with this one."""
        for part in closed:
            self._groups.setdefault(part.bucket, _Group([])).parts.append(part)
        for group in self._groups.values():
            group.checkpoints += 1
        due = {bucket: group for bucket, group in self._groups.items() if end_of_input or self._is_due(group)}
        for bucket in due:
            del self._groups[bucket]
        if isinstance(self._compactor, IdenticalFileCompactor):
            return [part for group in due.values() for part in group.parts]
        # Numbers are given here, one after the other; only the copying is done side by side.
        groups = [group.parts for group in due.values()]
        tasks = [(parts, self._place_for(parts[0]) if len(parts) > 1 else None) for parts in groups]
        if len(tasks) > 1 and self._strategy.threads > 1:
            with ThreadPoolExecutor(self._strategy.threads, thread_name_prefix="compaction") as threads:
                return list(threads.map(lambda task: self._compacted(*task), tasks))
        return [self._compacted(*task) for task in tasks]

    def _is_due(self, group: _Group) -> bool:
        return self._strategy.is_due(sum(part.size for part in group.parts), group.checkpoints)

    def _compacted(self, parts: list[PendingPart], place: OpenPart | None) -> PendingPart:
        if place is None:
            return parts[0]
        paths = [part.hidden for part in parts]
        if isinstance(self._compactor, RecordWiseFileCompactor):
            made = self._written_again(paths, place, self._compactor)
        else:
            assert isinstance(self._compactor, OutputStreamBasedFileCompactor)
            made = self._joined(paths, place, self._compactor)
        return replace(made, replaces=(*paths, *(replaced for part in parts for replaced in part.replaces)))

    def _joined(self, paths: list[str], place: OpenPart, compactor: OutputStreamBasedFileCompactor) -> PendingPart:
        stream = self._storage.begin(place.hidden)
        with ExitStack() as inputs:
            compactor.compact(
                [inputs.enter_context(self._storage.read(path)) for path in paths], cast("BinaryIO", stream)
            )
        stream.end()
        return place.closed(stream.tell())

    def _written_again(self, paths: list[str], place: OpenPart, compactor: RecordWiseFileCompactor[Any]) -> PendingPart:
        assert compactor.reader is not None, "the builder asks the format where the program gives no reader"
        part = self._format.part(place, self._storage.begin(place.hidden))
        for path in paths:
            with self._storage.read(path) as file:
                for records in _runs(compactor.reader(file)):
                    part.write(records, UNLIMITED)
        return part.close()


def _runs(records: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(records)
    while run := list(islice(rest, _RECORDS_AT_A_TIME)):
        yield run
