"""What a job needs of its storage before it starts: directories that can be written, a checkpoint that can be read.

Both are looked at before Spark is asked for anything. A job whose checkpoints cannot be written would otherwise run,
fail with its first checkpoint and start again, for ever.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.checkpoint.operator_ids import operator_infos, vertex_operators
from penstock.checkpoint.rescaling import plan_restore
from penstock.checkpoint.restored_parallelism import take_over_max_parallelism
from penstock.checkpoint.storage import StorageAccess, load_checkpoint
from penstock.errors import CheckpointError, CheckpointStorageError
from penstock.statestore.stored_classes import StoredClasses

if TYPE_CHECKING:
    from penstock.checkpoint.metadata import CheckpointMetadata
    from penstock.checkpoint.snapshot_storage import StoredFiles
    from penstock.foundation.files.local import FilesOf
    from penstock.graph.job import Job

__all__ = ["JobStorage", "try_checkpoint_directory", "try_savepoint_directory"]


@dataclass(frozen=True)
class JobStorage:
    """The storage of a job, tried, and the checkpoint that the job starts from."""

    access: StorageAccess
    start: tuple[CheckpointMetadata, StoredFiles] | None
    job: Job
    """The job, as what it starts from shapes it."""

    @staticmethod
    def of(job: Job, files_of: FilesOf) -> JobStorage:
        """Return the storage of a job that is about to start.

        Raises:
            CheckpointStorageError: The directory of its checkpoints or savepoints cannot be written.
            CheckpointError: It cannot start from the checkpoint that it is to start from.
        """
        access = StorageAccess(job.checkpoints.get_checkpoint_storage(), job.id, files_of)
        if job.savepoint_directory is not None:
            access.savepoint_directory = job.savepoint_directory
        start = None if job.restore_path is None else _loaded(job, files_of)
        if start is not None:
            job = take_over_max_parallelism(job, start[0])
            plan_restore(
                start[0],
                vertex_operators(job.plan),
                operator_infos(job.plan),
                allow_non_restored_state=job.allows_non_restored_state,
            )
        if job.checkpoints.is_checkpointing_enabled():
            try_checkpoint_directory(access)
        if access.savepoint_directory is not None:
            try_savepoint_directory(access, access.savepoint_directory)
        return JobStorage(access, start, job)


def try_checkpoint_directory(access: StorageAccess) -> None:
    """Write a file to where checkpoints go, and remove it; those in memory need no directory.

    Raises:
        CheckpointStorageError: The directory cannot be written.
    """
    if access.directory is not None:
        remedy = "Name one with execution.checkpointing.dir (set_checkpoint_storage_dir), or correct its permissions."
        _try("Checkpoints", access, access.directory.rpartition("/")[0] or "/", remedy)


def try_savepoint_directory(access: StorageAccess, directory: str) -> None:
    """Write a file to where savepoints go, and remove it.

    Raises:
        CheckpointStorageError: The directory cannot be written.
    """
    remedy = "Name another one, or correct its permissions; the default is execution.checkpointing.savepoint-dir."
    _try("Savepoints", access, directory, remedy)


def _try(what: str, access: StorageAccess, directory: str, remedy: str) -> None:
    try:
        files, root = access.files_of(directory)
        path = f"{root}/.penstock-{secrets.token_hex(6)}"
        output = files.create(path)
        output.write(b"Penstock looks whether it can write here.\n")
        output.close()
        files.delete(path)
    except (OSError, ValueError, CheckpointError) as error:
        message = (
            f"{what} cannot be written to {directory}: {error}\n"
            f"  The driver and all executors must be able to write that directory. {remedy}"
        )
        raise CheckpointStorageError(message) from error


def _loaded(job: Job, files_of: FilesOf) -> tuple[CheckpointMetadata, StoredFiles]:
    location = str(job.restore_path)
    try:
        return load_checkpoint(location, files_of, StoredClasses(job.renamed_classes))
    except (OSError, ValueError) as error:
        message = f"The checkpoint or savepoint to start from cannot be read: {location}: {error}"
        raise CheckpointError(message) from error
