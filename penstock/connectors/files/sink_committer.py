"""Gives closed files their names once the checkpoint that knows them is complete."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.connectors.sink_protocol import Committer
from penstock.errors import CheckpointError

if TYPE_CHECKING:
    from penstock.connectors.files.part_storage import PartStorage
    from penstock.connectors.files.sink_state import PendingPart

__all__ = ["PartCommitter"]

_LOGGER = logging.getLogger(__name__)


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
            return finished is not None
        if size != part.size:
            message = f"{part.hidden} has {size} bytes instead of the {part.size} that were written to it."
            raise CheckpointError(message)
        if finished is None:
            try:
                storage.move(part.hidden, part.target)
            except OSError:
                # A process of an attempt that failed may be committing the same at this moment.
                if storage.size_of(part.hidden) is not None or storage.size_of(part.target) is None:
                    raise
        elif not storage.has_rename and finished == size:
            # Copied, and the crash came before the old one was deleted.
            storage.delete(part.hidden)
        else:
            message = (
                f"{part.hidden} cannot become {part.target}: there is another file of that name. Move that file "
                "away; give each sink that writes to this directory a part prefix of its own."
            )
            raise CheckpointError(message)
        return True
