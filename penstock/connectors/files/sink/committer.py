"""Gives closed files their names once the checkpoint that knows them is complete."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.errors import CheckpointError
from penstock.vocabulary.sinks.protocol import Committer

if TYPE_CHECKING:
    from penstock.connectors.files.sink.part_storage import PartStorage
    from penstock.connectors.files.sink.state import PendingPart

__all__ = ["PartCommitter"]

_LOGGER = logging.getLogger(__name__)
_COPIED_AT_A_TIME = 1 << 20


class PartCommitter(Committer):
    """Moves files from their hidden names to their own; a file that was moved before is left alone."""

    def __init__(self, storage: PartStorage) -> None:
        self._storage = storage

    def commit(self, committables: list[Any]) -> list[Any]:
        """Move the files in this order.

        Raises:
            CheckpointError: A file is gone or damaged, or its name is taken by another one.
        """
        missing = self._move_all(committables)
        if missing:
            message = (
                f"{missing[0].hidden} cannot become {missing[0].target}: neither of them is there. Somebody has "
                "removed the unfinished file; its records are lost unless it comes back under its hidden name."
            )
            raise CheckpointError(message)
        return []

    def recover(self, committables: list[Any]) -> list[Any]:
        """Move the files that were not moved before."""
        for part in self._move_all(committables):
            # A finished file belongs to its readers: they may have taken it away since the checkpoint.
            _LOGGER.warning("%s is not there any more; taken as finished and removed by its readers", part.target)
        return []

    def _move_all(self, parts: list[PendingPart]) -> list[PendingPart]:
        """Move the files and return those of which there is no trace."""
        moved: list[PendingPart] = []
        missing: list[PendingPart] = []
        for part in parts:
            (moved if self._move(part) else missing).append(part)
        self._storage.keep_names({part.target.rpartition("/")[0] for part in moved})
        for part in moved:
            for replaced in part.replaces:
                self._storage.delete(replaced)
        return missing

    def _move(self, part: PendingPart) -> bool:
        storage = self._storage
        size, finished = storage.size_of(part.hidden), storage.size_of(part.target)
        if size is None:
            return self._finish_aside(part) or finished is not None
        if size != part.size:
            message = f"{part.hidden} has {size} bytes instead of the {part.size} that were written to it."
            raise CheckpointError(message)
        if finished is None:
            try:
                storage.move(part.hidden, part.target)
            except FileExistsError:
                return self._move(part)  # taken at this moment
            except OSError:
                # A process of an attempt that failed may be committing the same at this moment.
                if storage.size_of(part.hidden) is not None or storage.size_of(part.target) is None:
                    raise
        elif storage.is_same(part.hidden, part.target) or (not storage.has_rename and finished == size):
            # Linked or copied, and the crash came before the old one was deleted.
            storage.delete(part.hidden)
        elif part.alternative:
            self._move_aside(part)
        else:
            message = (
                f"{part.hidden} cannot become {part.target}: there is another file of that name. Move that file "
                "away; give each sink that writes to this directory a part prefix of its own."
            )
            raise CheckpointError(message)
        return True

    def _move_aside(self, part: PendingPart) -> None:
        """Finish a file whose name another job has taken, without what both have taken over from a savepoint."""
        storage = self._storage
        if not part.shared or not self._begin_alike(part):
            self._name(part.hidden, part.alternative)
            return
        if part.shared < part.size:
            path = _rest_of(part)
            storage.delete(path)  # what a crash has left half done
            rest = storage.begin(path)
            with storage.read(part.hidden) as file:
                file.seek(part.shared)
                while data := file.read(_COPIED_AT_A_TIME):
                    rest.write(data)
            rest.end()
            storage.keep_names({path.rpartition("/")[0]})
        # From here on there is only the rest, and a crash repeats nothing but its move.
        storage.delete(part.hidden)
        self._finish_aside(part)

    def _finish_aside(self, part: PendingPart) -> bool:
        """Name what is left to be named of a file that was moved aside; tell whether it was."""
        if not part.alternative:
            return False
        if part.shared and self._storage.size_of(_rest_of(part)) is not None:
            self._name(_rest_of(part), part.alternative)
        return self._storage.size_of(part.alternative) is not None

    def _name(self, hidden: str, name: str) -> None:
        """Move a file to a name that nobody else uses: where there is a file, it is this one."""
        if self._storage.size_of(name) is None:
            self._storage.move(hidden, name)
        else:
            self._storage.delete(hidden)

    def _begin_alike(self, part: PendingPart) -> bool:
        """Tell whether the file that has the name begins with what both have taken over from the savepoint."""
        left = part.shared
        with self._storage.read(part.hidden) as own, self._storage.read(part.target) as other:
            while left > 0:
                data = own.read(min(left, _COPIED_AT_A_TIME))
                if not data or other.read(len(data)) != data:
                    return False
                left -= len(data)
        return True


def _rest_of(part: PendingPart) -> str:
    return f"{part.hidden}.rest"
