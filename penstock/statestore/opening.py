"""Opens the backend that a program asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.statestore.heap import HeapStateBackend
from penstock.vocabulary.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.statestore.backend import KeyContext, KeyedStateBackend
    from penstock.vocabulary.state_backend import StateBackend

__all__ = ["open_backend"]


def open_backend(
    description: StateBackend | None,
    keys: KeyContext,
    *,
    operator: str,
    max_parallelism: int,
    now: Callable[[], int],
) -> KeyedStateBackend:
    """Returns an empty backend for one operator of one subtask; memory unless the program says otherwise."""
    if description is None or isinstance(description, HashMapStateBackend):
        return HeapStateBackend(keys, operator, now)
    if isinstance(description, EmbeddedRocksDBStateBackend):
        # RocksDB is an extra: a program that does not ask for it need not have it.
        from penstock.statestore.rocksdb import RocksDBKeyedStateBackend

        return RocksDBKeyedStateBackend(keys, operator, description, max_parallelism, now)
    message = (
        f"{description!r} is no state backend of Penstock; use HashMapStateBackend or EmbeddedRocksDBStateBackend."
    )
    raise ProgramError(message)
