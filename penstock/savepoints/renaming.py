"""Gives the classes in a savepoint other names, without reading a value and without the classes.

Values hold numbers of classes, and the names are in tables beside them. Only the tables are written anew; which subtask
owns a key does not depend on the name of its class.
"""

from __future__ import annotations

import secrets
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import METADATA
from penstock.checkpoint.snapshot_storage import FileTarget
from penstock.errors import CheckpointError
from penstock.foundation.files.by_uri import files_of
from penstock.savepoints.savepoint import Savepoint
from penstock.statestore.handles import ENTRIES
from penstock.statestore.snapshot_format import with_other_classes
from penstock.statestore.stored_classes import StoredClasses
from penstock.statestore.value_codec import value_with_other_classes
from penstock.vocabulary.settings.modes import CheckpointKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.checkpoint.metadata import OperatorMetadata
    from penstock.checkpoint.subtask_state import OperatorState
    from penstock.statestore.handles import KeyedStateHandle, StoredBytes

__all__ = ["rename_classes"]


def rename_classes(location: str | Path, directory: str | Path, renamed: Mapping[str, str]) -> str:
    """Write a copy of a savepoint in which classes have other names, and return its path.

    No value is read and no code is run. A job that starts from the copy finds its classes under their new names.

    Args:
        location: The savepoint.
        directory: Where the copy goes: a new directory is made in it.
        renamed: The new names of classes, or of modules, by the old ones.

    Raises:
        CheckpointError: It is no savepoint: the keys in files of RocksDB hold names.
    """
    savepoint = Savepoint.load(location)
    copy = _Copy(savepoint, str(directory), StoredClasses(renamed))
    operators = {name: copy.operator(content) for name, content in savepoint.metadata.operators.items()}
    metadata = replace(savepoint.metadata, operators=operators, kind=CheckpointKind.SAVEPOINT)
    copy.files.publish(f"{copy.path}/{METADATA}", metadata.encode())
    return copy.location


class _Copy:
    """A savepoint that is being written."""

    def __init__(self, savepoint: Savepoint, directory: str, classes: StoredClasses) -> None:
        self._savepoint = savepoint
        self._classes = classes
        self.location = f"{directory.rstrip('/')}/savepoint-{secrets.token_hex(3)}-{secrets.token_hex(6)}"
        self.files, self.path = files_of(self.location)
        self._target = FileTarget(self.files, self.path, is_savepoint=True)

    def operator(self, content: OperatorMetadata) -> OperatorMetadata:
        if content.in_flight:
            message = f"{self._savepoint.location} holds records in flight. Start the job from it and take a savepoint."
            raise CheckpointError(message)
        return replace(content, subtasks={number: self._state(state) for number, state in content.subtasks.items()})

    def _state(self, state: OperatorState) -> OperatorState:
        operator = state.operator
        if operator is not None:
            tables = {
                number: tuple(map(self._classes.renamed_schema, schemas))
                for number, schemas in operator.classes.items()
            }
            operator = replace(operator, classes=tables)
        return replace(
            state, keyed=tuple(map(self._keyed, state.keyed)), operator=operator, own=tuple(map(self._own, state.own))
        )

    def _own(self, stored: StoredBytes) -> StoredBytes:
        data = value_with_other_classes(self._savepoint.files.read(stored), self._classes.renamed_schema)
        return replace(stored, location=None, size=len(data), checksum=zlib.crc32(data), data=data, is_shared=False)

    def _keyed(self, handle: KeyedStateHandle) -> KeyedStateHandle:
        if handle.form != ENTRIES:
            message = (
                f"{self._savepoint.location} is a checkpoint with files of RocksDB, whose keys hold the names of"
                " classes. Start the job from it with penstock.renamed-classes, or take a savepoint."
            )
            raise CheckpointError(message)
        return replace(handle, files=tuple((name, self._entries(stored)) for name, stored in handle.files))

    def _entries(self, stored: StoredBytes) -> StoredBytes:
        output = self._target.create("renamed", checks_itself=True)
        for part in with_other_classes(self._savepoint.files.open(stored), self._classes.renamed_schema):
            output.write(part)
        return output.finish()
