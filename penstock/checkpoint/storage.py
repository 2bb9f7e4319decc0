"""Where checkpoints are kept: directories as Flink's, or the memory of the driver.

::

    <dir>/<job-id>/chk-<n>/_metadata      the checkpoint exists if and only if this file does
    <dir>/<job-id>/chk-<n>/<state>        state of this checkpoint alone
    <dir>/<job-id>/shared/<state>         files of incremental checkpoints and of finished tasks, as long as one
    refers to them <target>/savepoint-<6 hex of the job id>-<12 hex>/    a savepoint: everything in one directory that
    can be moved

Tasks write state files under names that nobody else uses and make them durable before they acknowledge. The metadata
refers to them and is published last, in one step: written beside, synced and renamed on file systems; a single put on
object stores, which is atomic there. Locations in the metadata are relative. A crash at any moment leaves a whole
checkpoint, or files that nothing refers to.
"""

from __future__ import annotations

import posixpath
import re
import secrets
import zlib
from typing import TYPE_CHECKING, Literal

from penstock.checkpoint.claimed_snapshot import ClaimedSnapshot
from penstock.checkpoint.metadata import METADATA, CheckpointMetadata
from penstock.checkpoint.shared_files import SharedFiles
from penstock.checkpoint.snapshot_storage import FileTarget, MemoryTarget, StoredFiles
from penstock.errors import CheckpointError, CorruptCheckpointError
from penstock.foundation.files.local import local_files_of
from penstock.statestore.value_codec import PROGRAM_CLASSES
from penstock.vocabulary.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.vocabulary.settings.modes import ExternalizedCheckpointRetention

if TYPE_CHECKING:
    from penstock.checkpoint.options import CheckpointOptions
    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.foundation.files.local import Files, FilesOf
    from penstock.statestore.handles import SnapshotTarget, StoredBytes
    from penstock.statestore.stored_classes import StoredClasses
    from penstock.vocabulary.settings.checkpoint_storage import CheckpointStorage

__all__ = ["CheckpointStore", "StorageAccess", "is_kept_after", "load_checkpoint", "remove_snapshot"]

_CHECKPOINT = re.compile(r"chk-(\d+)")


class StorageAccess:
    """How tasks reach the storage of a job's checkpoints; travels to them.

    Args:
        storage: What the program asked for; ``None`` is the memory of the driver.
        job_id: The job, 32 hexadecimal digits.
        files_of: Finds the file system of a location.
    """

    def __init__(self, storage: CheckpointStorage | None, job_id: str, files_of: FilesOf = local_files_of) -> None:
        storage = JobManagerCheckpointStorage() if storage is None else storage
        if not isinstance(storage, FileSystemCheckpointStorage | JobManagerCheckpointStorage):
            message = f"Checkpoints cannot be kept in {storage!r}; use a directory or the memory of the driver."
            raise CheckpointError(message)
        self.job_id = job_id
        self.savepoint_directory = storage.get_savepoint_path()
        self._files_of = files_of
        path = storage.get_checkpoint_path()
        self.directory = None if path is None else posixpath.join(path, job_id)
        self._max_in_memory = storage.get_max_state_size() if isinstance(storage, JobManagerCheckpointStorage) else None
        self._threshold = (
            storage.get_min_file_size_threshold() if isinstance(storage, FileSystemCheckpointStorage) else 0
        )

    def files_of(self, location: str) -> tuple[Files, str]:
        """Return the file system and the path of a location."""
        return self._files_of(location)

    def target(self, checkpoint_id: int, options: CheckpointOptions) -> SnapshotTarget:
        """Return where a task stores its part of a checkpoint or savepoint."""
        if options.kind.is_savepoint:
            if options.location is None:
                message = "The savepoint has no directory; ask new_savepoint_directory() for one."
                raise CheckpointError(message)
            return FileTarget(*self.files_of(options.location), threshold=self._threshold, is_savepoint=True)
        if self._max_in_memory is not None:
            return MemoryTarget(self._max_in_memory)
        files, root = self.files_of(str(self.directory))
        return FileTarget(
            files,
            f"{root}/chk-{checkpoint_id}",
            shared=f"{root}/shared",
            threshold=self._threshold,
            checkpoint_id=checkpoint_id,
            reusable=options.reusable,
        )

    def last_target(self) -> SnapshotTarget:
        """Return where a task that has finished stores its last state, which all later checkpoints refer to."""
        if self._max_in_memory is not None:
            return MemoryTarget(self._max_in_memory)
        files, root = self.files_of(str(self.directory))
        return FileTarget(
            files, f"{root}/chk-last", shared=f"{root}/shared", threshold=self._threshold, is_all_shared=True
        )

    def new_savepoint_directory(self, asked: str | None) -> str:
        """Return a fresh directory for a savepoint in the directory asked for, or in the job's own one.

        Raises:
            CheckpointError: Nobody has said where savepoints go.
        """
        parent = asked or self.savepoint_directory
        if parent is None:
            message = (
                "No directory for the savepoint: give one, or set execution.checkpointing.savepoint-dir"
                " (set_default_savepoint_directory)."
            )
            raise CheckpointError(message)
        return posixpath.join(parent, f"savepoint-{self.job_id[:6]}-{secrets.token_hex(6)}")


class CheckpointStore:
    """The driver's side of the storage: publishes, lists, loads and deletes checkpoints of one job."""

    def __init__(self, access: StorageAccess) -> None:
        self._access = access
        self._in_memory: dict[int, CheckpointMetadata] = {}
        self._published: dict[int, str] = {}
        self._shared = SharedFiles()
        self._claimed: dict[int, ClaimedSnapshot] = {}

    def claim(self, location: str, metadata: CheckpointMetadata) -> None:
        """Take over the snapshot that the job starts from: from now on it is deleted like those of the job itself."""
        claimed = ClaimedSnapshot(location, metadata, self._access.files_of)
        self._claimed[metadata.checkpoint_id] = claimed
        self._published[metadata.checkpoint_id] = claimed.location

    def begin(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint is under way: it may refer to any shared file that exists now."""
        self._shared.begin(checkpoint_id)

    def publish(self, metadata: CheckpointMetadata, options: CheckpointOptions) -> str:
        """Make a checkpoint exist and return the path to restore from, empty if it is in memory.

        Raises:
            OSError: It could not be written, and does not exist.
        """
        checkpoint_id = metadata.checkpoint_id
        directory = self._directory_of(checkpoint_id, options)
        if directory is None:
            self._in_memory[checkpoint_id] = metadata
            path = ""
        else:
            files, root = self._access.files_of(directory)
            if options.kind.is_savepoint:
                metadata = metadata.with_stored(lambda stored: self._copied(stored, files, root))
            try:
                files.publish(f"{root}/{METADATA}", metadata.encode())
            except BaseException:
                files.delete(f"{root}/{METADATA}")  # undecided would be worse than failed
                raise
            path = directory
        self._published[checkpoint_id] = path
        if not options.kind.is_savepoint:
            self._delete_files(self._shared.keep(checkpoint_id, metadata.shared_locations()))
        else:
            self._shared.give_up(checkpoint_id)
        return path

    def path_of(self, checkpoint_id: int) -> str:
        """Return where a published checkpoint is, empty if it is in memory."""
        return self._published[checkpoint_id]

    def load(self, checkpoint_id: int) -> tuple[CheckpointMetadata, StoredFiles]:
        """Return a checkpoint of this job that was published before, checked."""
        found = self._in_memory.get(checkpoint_id)
        if found is not None:
            return found, StoredFiles(*local_files_of("."))
        return load_checkpoint(self._published[checkpoint_id], self._access.files_of)

    def delete(self, checkpoint_id: int) -> None:
        """Remove a checkpoint, whole or half, with every shared file that no other one needs."""
        self._in_memory.pop(checkpoint_id, None)
        self._published.pop(checkpoint_id, None)
        if checkpoint_id in self._claimed:
            self._claimed.pop(checkpoint_id).delete()
            return
        locations = self._shared.give_up(checkpoint_id)
        if self._access.directory is not None:
            files, root = self._access.files_of(self._access.directory)
            # First the file that makes it a checkpoint: one that is half deleted must not look whole.
            files.delete(f"{root}/chk-{checkpoint_id}/{METADATA}")
            files.delete_directory(f"{root}/chk-{checkpoint_id}")
        self._delete_files(locations)

    def delete_failed_savepoint(self, location: str) -> None:
        """Remove what tasks have written for a savepoint that does not come."""
        files, directory = self._access.files_of(location)
        if files.size_of(f"{directory}/{METADATA}") is None:
            files.delete_directory(directory)

    def discard(self, checkpoint_id: int, state: SubtaskState) -> None:
        """Remove what a task stored for a checkpoint that was given up meanwhile."""
        if self._access.directory is None:
            return
        files, root = self._access.files_of(self._access.directory)
        for stored in state.stored():
            if stored.location is not None and not self._shared.is_used(stored.location):
                files.delete(posixpath.normpath(f"{root}/chk-{checkpoint_id}/{stored.location}"))
        if not files.names_in(f"{root}/chk-{checkpoint_id}"):
            files.delete_directory(f"{root}/chk-{checkpoint_id}")

    def delete_all(self) -> None:
        """Remove everything of the job but its savepoints."""
        self._in_memory.clear()
        if self._access.directory is not None:
            files, root = self._access.files_of(self._access.directory)
            numbers = [int(found[1]) for name in files.names_in(root) if (found := _CHECKPOINT.fullmatch(name))]
            # The newest goes last: who finds a part of them after a crash must not go back behind what was committed.
            for number in sorted(numbers):
                files.delete(f"{root}/chk-{number}/{METADATA}")
            files.delete_directory(root)

    def _copied(self, stored: StoredBytes, files: Files, directory: str) -> StoredBytes:
        """Copy a file that checkpoints share into a savepoint, which stands alone."""
        if not stored.is_shared or self._access.directory is None:
            return stored
        source_files, root = self._access.files_of(self._access.directory)
        source = StoredFiles(source_files, f"{root}/chk-0")
        output = FileTarget(files, directory).create("last")
        for chunk in source.chunks(stored):
            output.write(chunk)
        return output.finish()

    def _directory_of(self, checkpoint_id: int, options: CheckpointOptions) -> str | None:
        if options.kind.is_savepoint:
            return options.location
        return None if self._access.directory is None else f"{self._access.directory}/chk-{checkpoint_id}"

    def _delete_files(self, locations: set[str]) -> None:
        if locations and self._access.directory is not None:
            files, root = self._access.files_of(self._access.directory)
            for location in sorted(locations):
                files.delete(posixpath.normpath(f"{root}/chk-0/{location}"))


def load_checkpoint(
    location: str, files_of: FilesOf = local_files_of, classes: StoredClasses = PROGRAM_CLASSES
) -> tuple[CheckpointMetadata, StoredFiles]:
    """Load a checkpoint or savepoint from its directory or its ``_metadata`` file and check that its files are there.

    This runs no code of the program; ``classes`` decide what happens when values are read.

    Raises:
        CheckpointError: There is no checkpoint.
        CorruptCheckpointError: A file of it is missing, truncated or damaged.
    """
    files, path = files_of(location)
    directory = posixpath.dirname(path) if posixpath.basename(path) == METADATA else path
    name = f"{directory}/{METADATA}"
    size = files.size_of(name)
    if size is None:
        found = files.names_in(directory)
        nearby = [each for each in found if _CHECKPOINT.fullmatch(each)]
        hint = (
            f" It has {', '.join(nearby)}: choose one of them."
            if nearby
            else " It may not have been completed."
            if found
            else " There is no such directory, or it is empty."
        )
        message = f"There is no checkpoint or savepoint at {location}: {METADATA} is missing.{hint}"
        raise CheckpointError(message)
    metadata = CheckpointMetadata.decode(files.open(name).read_at(0, size), name)
    stored_files = StoredFiles(files, directory, classes)
    for stored in metadata.stored():
        if stored.location is None:
            if stored.data is None or zlib.crc32(stored.data) != stored.checksum:
                raise CorruptCheckpointError(name, "is damaged (the checksum of a state does not match)")
        else:
            stored_files.check_size(stored)
    return metadata, stored_files


def remove_snapshot(location: str, files_of: FilesOf = local_files_of) -> None:
    """Remove a checkpoint or savepoint that no job uses any more, with its directory; shared files stay.

    Raises:
        CheckpointError: There is none: nothing else is ever removed.
    """
    files, path = files_of(location)
    directory = posixpath.dirname(path) if posixpath.basename(path) == METADATA else path
    if files.size_of(f"{directory}/{METADATA}") is None:
        message = f"There is no checkpoint or savepoint at {location}: {METADATA} is missing. Nothing was removed."
        raise CheckpointError(message)
    # First the file that makes it a checkpoint: one that is half deleted must not look whole.
    files.delete(f"{directory}/{METADATA}")
    files.delete_directory(directory)


def is_kept_after(end: Literal["finished", "cancelled", "failed"], retention: ExternalizedCheckpointRetention) -> bool:
    """Tell whether checkpoints stay when a job has ended like this."""
    if end == "failed":
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    return end == "cancelled" and retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
