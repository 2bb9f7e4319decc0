"""Knows which files several checkpoints share, and when the last one that needs a file is gone: pure bookkeeping."""

from __future__ import annotations

__all__ = ["SharedFiles"]


class SharedFiles:
    """Counts who refers to shared files.

    A file that no complete checkpoint refers to any more may still be wanted by a checkpoint under way, which may
    have been told to build on one that is deleted now. Such a file is kept until all checkpoints that were under way
    then are decided.
    """

    def __init__(self) -> None:
        self._locations: dict[int, set[str]] = {}
        self._under_way: set[int] = set()
        self._doubtful: dict[str, set[int]] = {}
        """Files without a reference, with the checkpoints that may yet refer to them."""

    def is_used(self, location: str) -> bool:
        """Tell whether a file must stay."""
        return location in self._doubtful or any(location in each for each in self._locations.values())

    def begin(self, checkpoint_id: int) -> None:
        """Take note of a checkpoint under way."""
        self._under_way.add(checkpoint_id)

    def keep(self, checkpoint_id: int, locations: set[str]) -> set[str]:
        """Take note that a checkpoint is complete and refers to files; return files to delete."""
        self._locations[checkpoint_id] = locations
        for location in locations:
            self._doubtful.pop(location, None)
        return self._decided(checkpoint_id)

    def give_up(self, checkpoint_id: int) -> set[str]:
        """Take note that a checkpoint is gone, complete or not; return files to delete."""
        for location in self._locations.pop(checkpoint_id, set()):
            if not self.is_used(location):
                self._doubtful[location] = self._under_way - {checkpoint_id}
        return self._decided(checkpoint_id)

    def _decided(self, checkpoint_id: int) -> set[str]:
        self._under_way.discard(checkpoint_id)
        for waiting in self._doubtful.values():
            waiting.discard(checkpoint_id)
        free = {location for location, waiting in self._doubtful.items() if not waiting}
        for location in free:
            del self._doubtful[location]
        return free
