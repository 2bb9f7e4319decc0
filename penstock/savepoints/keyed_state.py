"""Opens keyed state of any form for reading."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import CheckpointError
from penstock.statestore.handles import ENTRIES, ROCKSDB
from penstock.statestore.snapshot_format import KeyedStateReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.statestore.handles import KeyedStateHandle, StateFiles
    from penstock.statestore.rocksdb.reading import DatabaseReader

__all__ = ["open_keyed_state"]


@contextmanager
def open_keyed_state(
    handle: KeyedStateHandle, files: StateFiles, operator: str, max_parallelism: int
) -> Iterator[list[KeyedStateReader | DatabaseReader]]:
    """Give readers of the state that a handle points to."""
    if handle.form == ENTRIES:
        yield [
            KeyedStateReader(files.open(stored), operator=operator, classes=files.classes) for _, stored in handle.files
        ]
        return
    if handle.form != ROCKSDB:
        message = f"The state of {operator!r} is of a form that Penstock does not know: {handle.form!r:.80}."
        raise CheckpointError(message)
    try:
        from penstock.statestore.rocksdb.reading import open_database
    except ImportError as error:
        message = f"The checkpoint holds files of RocksDB ({error}). To read it: pip install penstock[rocksdb]."
        raise CheckpointError(message) from error
    with open_database(handle, files, operator, max_parallelism) as reader:
        yield [reader]
