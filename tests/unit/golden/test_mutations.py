"""Damaged files of every kind, through a restoring job: a clear error or the right state, and never any code.

By itself a few changes of each kind are tried, always the same. ``PENSTOCK_MUTATIONS=500`` tries so many of each kind,
and ``PENSTOCK_MUTATIONS_SEED`` chooses others.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from penstock.checkpoint.metadata import METADATA, CheckpointMetadata
from penstock.errors import CheckpointError
from penstock.savepoints import Savepoint
from penstock.statestore.handles import StoredBytes
from penstock.testing import LocalCheckpoint
from tests.unit.golden.archive import FILES, new_run, unpacked
from tests.unit.golden.programs import WORLD

NUMBER = int(os.environ.get("PENSTOCK_MUTATIONS", "12"))
SEED = os.environ.get("PENSTOCK_MUTATIONS_SEED", "1")

KINDS = {
    "metadata": ("states-savepoint-heap", "_metadata"),
    "operator state": ("states-savepoint-rocksdb", "_metadata"),
    "inline": ("windows-checkpoint-heap", "_metadata"),
    "keyed": ("states-savepoint-heap", "states-"),
    "keyed of windows": ("windows-savepoint-heap", "tumbling-"),
    "positions": ("states-savepoint-heap", "items-own"),
    "transactions": ("sinks-savepoint-heap", "transactions-own"),
    "batches": ("sinks-savepoint-heap", "write-ahead-own"),
    "records in flight": ("exchange-unaligned-heap", "in-flight"),
    "rocksdb tables": ("states-checkpoint-rocksdb", ".sst"),
    "rocksdb manifest": ("states-checkpoint-rocksdb", "MANIFEST"),
    "rocksdb options": ("states-checkpoint-rocksdb", "OPTIONS"),
    "rocksdb description": ("states-checkpoint-rocksdb", "meta-"),
    "rocksdb timers": ("states-checkpoint-rocksdb", "timers-"),
}
"""Where files of a kind are found: in a snapshot, by a part of their names."""

_looked_up: list[set[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _looked_up and event in ("pickle.find_class", "os.system", "os.exec", "subprocess.Popen"):
        _looked_up[-1].add(f"{event} {arguments[:2]}")


sys.addaudithook(_watch)


@contextmanager
def watched() -> Iterator[set[str]]:
    """Give what is looked up by name while pickles are read."""
    _looked_up.append(set())
    try:
        yield _looked_up[-1]
    finally:
        _looked_up.pop()


def spread_out(snapshot: str, directory: Path) -> Path:
    """Unpack a snapshot; what its metadata holds beside everything else gets files of its own."""
    unpacked(FILES / "1" / f"{snapshot}.zip", directory)
    if snapshot.startswith("windows-checkpoint"):
        return directory
    file = directory / METADATA
    metadata = CheckpointMetadata.decode(file.read_bytes(), "_metadata")
    names = {
        id(stored): name
        for operator in metadata.operators.values()
        for state in operator.subtasks.values()
        for handle in state.keyed
        for name, stored in handle.files
    }
    in_flight = {id(each) for operator in metadata.operators.values() for each in operator.in_flight.values()}

    def to_file(stored: StoredBytes) -> StoredBytes:
        if stored.data is None:
            return stored
        kind = "in-flight" if id(stored) in in_flight else names.get(id(stored), "own")
        location = f"{kind}-{zlib.crc32(stored.data):08x}-{stored.size}"
        (directory / location).write_bytes(stored.data)
        return StoredBytes(location, stored.size, stored.checksum)

    file.write_bytes(metadata.with_stored(to_file).encode())
    return directory


def restored(directory: Path, snapshot: str) -> list[str]:
    """What a job makes of a snapshot."""
    program, form, backend = snapshot.split("-")
    WORLD.__init__()  # type: ignore[misc] # functions find it by its name
    checkpoint = LocalCheckpoint.load(directory)
    run = new_run(program, backend, checkpoint, 2 if form == "unaligned" else 1).run()
    return sorted([*map(str, run.collected.get("out", [])), *map(str, WORLD.seen)])


@cache
def undamaged(snapshot: str, directory: Path) -> tuple[list[str], frozenset[str]]:
    """What a job makes of the snapshot as it is, and what it looks up by name."""
    with watched() as names:
        seen = restored(spread_out(snapshot, directory), snapshot)
    return seen, frozenset(names)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Change bytes in one of the ways in which files get lost."""
    size = len(data)
    place = chance.randrange(size)
    length = min(size - place, 1 << chance.randrange(8))
    match chance.randrange(8):
        case 0 | 1:
            changed = bytearray(data)
            changed[place] ^= 1 << chance.randrange(8)
            return bytes(changed)
        case 2:
            return data[:place]
        case 3:
            return data[:place] + bytes(length) + data[place + length :]
        case 4:
            return data[:place] + chance.randbytes(length) + data[place + length :]
        case 5:
            return data[:place] + data[place + length :]
        case 6:
            return data[:place] + chance.randbytes(length) + data[place:]
        case _:
            other = chance.randrange(size)
            return data[:place] + data[other : other + length].ljust(length, b"\0") + data[place + length :]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_an_error_or_makes_no_difference(kind: str, tmp_path: Path) -> None:
    snapshot, part = KINDS[kind]
    wanted, known = undamaged(snapshot, tmp_path / "undamaged")
    directory = spread_out(snapshot, tmp_path / "damaged")
    files = [path for path in sorted(directory.iterdir()) if part in path.name]
    assert files, f"{snapshot} has no file of this kind"
    chance = random.Random(f"{SEED} {kind}")
    outcomes = {"error": 0, "right": 0}
    for number in range(NUMBER):
        file = chance.choice(files)
        whole = file.read_bytes()
        file.write_bytes(mutated(whole, chance))
        with watched() as names:
            try:
                assert restored(directory, snapshot) == wanted, f"change {number} of {file.name} makes other state"
                outcomes["right"] += 1
            except CheckpointError:
                outcomes["error"] += 1
        assert names <= known, f"change {number} of {file.name}: {names - known} was looked up"
        file.write_bytes(whole)
    assert outcomes["error"] > NUMBER / 2, outcomes
    assert restored(directory, snapshot) == wanted, "the test itself has damaged nothing"


@pytest.mark.parametrize("snapshot", ["states-savepoint-heap", "windows-checkpoint-heap", "exchange-unaligned-heap"])
def test_metadata_that_is_damaged_under_a_right_checksum_runs_nothing(snapshot: str, tmp_path: Path) -> None:
    """As somebody would write it on purpose: whatever is read of it, it is data, or it is refused."""
    directory = unpacked(FILES / "1" / f"{snapshot}.zip", tmp_path)
    file = directory / METADATA
    whole = file.read_bytes()
    head = struct.Struct("<8sHQI")
    chance = random.Random(f"{SEED} {snapshot}")
    for _ in range(NUMBER * 5):
        body = mutated(whole[head.size :], chance)
        file.write_bytes(head.pack(b"PENCHKPT", 4, len(body), zlib.crc32(body)) + body)
        with watched() as names, suppress(CheckpointError):
            Savepoint.load(directory).operators()
        assert names == set()
