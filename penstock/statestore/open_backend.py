"""Opens the backend that a program asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.statestore.backend import KeyedStateBackend
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.state.backends import CustomStateBackend, EmbeddedRocksDBStateBackend, HashMapStateBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.statestore.backend import KeyContext
    from penstock.vocabulary.state.backends import StateBackend

__all__ = ["open_backend"]


def open_backend(
    description: StateBackend | None,
    keys: KeyContext,
    *,
    operator: str,
    max_parallelism: int,
    now: Callable[[], int],
    compresses: bool = False,
) -> KeyedStateBackend:
    """Return an empty backend for one operator of one subtask; memory unless the program says otherwise."""
    backend = _opened(description, keys, operator, max_parallelism, now)
    backend.compresses_snapshots = compresses
    return backend


def _opened(
    description: StateBackend | None, keys: KeyContext, operator: str, max_parallelism: int, now: Callable[[], int]
) -> KeyedStateBackend:
    if description is None or isinstance(description, HashMapStateBackend):
        return HeapStateBackend(keys, operator, now)
    if isinstance(description, EmbeddedRocksDBStateBackend):
        # RocksDB is an extra: a program that does not ask for it need not have it.
        from penstock.statestore.rocksdb.backend import RocksDBKeyedStateBackend

        return RocksDBKeyedStateBackend(keys, operator, description, max_parallelism, now)
    if isinstance(description, CustomStateBackend):
        backend = description.get_factory()(keys, operator, max_parallelism, now)
        if isinstance(backend, KeyedStateBackend):
            return backend
        message = f"The factory of a CustomStateBackend made a {type(backend).__name__}, not a KeyedStateBackend."
        raise ProgramError(message)
    message = (
        f"{description!r} is no state backend of Penstock; use HashMapStateBackend or EmbeddedRocksDBStateBackend."
    )
    raise ProgramError(message)
