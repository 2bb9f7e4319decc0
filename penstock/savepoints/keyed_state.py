"""Opens keyed state of any form for reading."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import CheckpointError
from penstock.foundation.files.local import LocalFiles
from penstock.statestore.backend import KeyContext
from penstock.statestore.handles import ENTRIES
from penstock.statestore.open_backend import open_backend
from penstock.statestore.snapshot_format import KeyedStateReader
from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.statestore.handles import KeyedStateHandle, StateFiles

__all__ = ["open_keyed_state"]


@contextmanager
def open_keyed_state(
    handle: KeyedStateHandle, files: StateFiles, operator: str, max_parallelism: int
) -> Iterator[list[KeyedStateReader]]:
    """Gives readers of the state that a handle points to; that of a RocksDB is turned into the common form first."""
    if handle.form == ENTRIES:
        yield [KeyedStateReader(files.open(stored), operator=operator) for _, stored in handle.files]
        return
    try:
        backend = open_backend(
            EmbeddedRocksDBStateBackend(),
            KeyContext(),
            operator=operator,
            max_parallelism=max_parallelism,
            now=lambda: 0,  # nothing expires by being looked at
        )
    except ImportError as error:
        message = f"The checkpoint holds files of RocksDB ({error}). To read it: pip install penstock[rocksdb]."
        raise CheckpointError(message) from error
    try:
        timers = backend.restore_handles([handle], files, handle.key_groups, max_parallelism)
        with tempfile.TemporaryDirectory(prefix="penstock-savepoints-") as directory:
            path = Path(directory) / "state"
            with path.open("wb") as file:
                backend.snapshot(handle.key_groups, max_parallelism, timers).encode(file.writelines)
            yield [KeyedStateReader(LocalFiles().open(str(path)), operator=operator)]
    finally:
        backend.close()
