"""Looking at a savepoint runs no code, whatever is in it; a job that owns it, or ``--unpickle``, does."""

from __future__ import annotations

import os
import pickle
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import CorruptCheckpointError, Row, RowKind, TimeWindow, ValueStateDescriptor
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorInfo, OperatorMetadata
from penstock.checkpoint.storage import load_checkpoint
from penstock.checkpoint.subtask_state import OperatorState
from penstock.foundation.plain_data import dump_plain, load_plain, seal, unseal
from penstock.savepoints import Savepoint, SavepointEditor, compare_savepoints
from penstock.savepoints.terminal import main
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.handles import ENTRIES, KeyedStateHandle, StoredBytes
from penstock.statestore.inert_values import InertClasses, OpaqueValue
from penstock.statestore.operator_state import OperatorStateSnapshot
from penstock.statestore.snapshot_format import KeyedStateWriter, StateInfo
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.statestore.value_codec import ClassTable, ValueReader, store_value
from penstock.vocabulary.settings.modes import CheckpointKind


class Evil:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.place}",)


@dataclass(frozen=True)
class Order:
    number: int
    amount: float = 1.0


def inline(data: bytes) -> StoredBytes:
    return StoredBytes(None, len(data), zlib.crc32(data), data)


def savepoint(directory: Path, value: Any, key: Any = "k") -> Path:
    """A savepoint with a value everywhere a value can be."""
    parts: list[bytes] = []
    writer = KeyedStateWriter(parts.extend, operator="op", max_parallelism=128)
    writer.write_group(1, [(StateInfo("total", "value"), [(None, [key], [value])])])
    writer.finish()
    keyed = KeyedStateHandle(0, 128, ENTRIES, (("", inline(b"".join(parts))),))
    lists = StoredOperatorState.encode(OperatorStateSnapshot(lists={"names": [value]}, broadcasts={"b": {1: value}}), 0)
    state = OperatorState((keyed,), lists, (inline(store_value({"positions": value})),))
    operator = OperatorMetadata(OperatorInfo("Op", 1, 128), {0: state})
    metadata = CheckpointMetadata("0" * 32, 7, 0, CheckpointKind.SAVEPOINT, {"op": operator})
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "_metadata").write_bytes(metadata.encode())
    return directory


def old_metadata(directory: Path, body: bytes) -> Path:
    """The metadata of the time when it was a pickle."""
    head = struct.pack("<8sHQI", b"PENCHKPT", 3, len(body), zlib.crc32(body))
    (directory / "_metadata").write_bytes(head + body)
    return directory


@pytest.mark.parametrize("command", ["list", "show", "diff"])
def test_metadata_that_is_a_crafted_pickle_runs_nothing(command: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = str(old_metadata(tmp_path, pickle.dumps(Evil(mark))))
    assert main([command, path] + ([path] if command == "diff" else [])) == 1
    assert not mark.exists()


@pytest.mark.parametrize("command", ["list", "show", "diff"])
def test_crafted_values_run_nothing(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "mark"
    path = str(savepoint(tmp_path / "a", Evil(mark)))
    other = str(savepoint(tmp_path / "b", 3))
    assert main([command, path] + ([other] if command == "diff" else [])) == 0
    assert not mark.exists()
    if command != "list":
        assert "system" in capsys.readouterr().out, "what it would have called is shown"


def test_unpickling_is_a_word_of_trust(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = str(savepoint(tmp_path / "a", Evil(mark)))
    list(Savepoint.load(path, unpickle=True).rows())
    assert mark.exists()


def test_what_a_class_of_the_program_holds_is_seen_without_it(tmp_path: Path) -> None:
    path = savepoint(tmp_path, Order(3, 2.5), key=Order(1))
    (row,) = Savepoint.load(path).rows(state="total")
    assert isinstance(row.value, OpaqueValue)
    assert (row.value.number, row.value.amount, row.key.number) == (3, 2.5, 1)
    assert repr(row.value) == "Order(number=3, amount=2.5)"
    (trusted,) = Savepoint.load(path, unpickle=True).rows(state="total")
    assert (trusted.key, trusted.value) == (Order(1), Order(3, 2.5))
    assert row.to_json() == trusted.to_json()


def test_savepoints_are_compared_without_the_classes(tmp_path: Path) -> None:
    first = Savepoint.load(savepoint(tmp_path / "a", Order(3)))
    same = Savepoint.load(savepoint(tmp_path / "b", Order(3)))
    other = Savepoint.load(savepoint(tmp_path / "c", Order(4)))
    assert list(compare_savepoints(first, same)) == []
    assert {each.state for each in compare_savepoints(first, other)} == {"total", "names", "b", "own"}


def test_the_editor_does_not_store_what_it_has_not_read(tmp_path: Path) -> None:
    path = savepoint(tmp_path / "a", Order(3))
    editor = SavepointEditor(Savepoint.load(path))
    with pytest.raises(Exception, match="unpickle=True"):
        editor.write(tmp_path / "b")
    editor = SavepointEditor(Savepoint.load(path, unpickle=True))
    editor.put("op", ValueStateDescriptor("total"), key="k", value=Order(9))
    (row,) = Savepoint.load(editor.write(tmp_path / "b"), unpickle=True).rows(state="total")
    assert row.value == Order(9)


PLAIN = [
    None, 1, -(1 << 70), 1.5, "a", "\ud800", b"\x00", (1, ("a",)), [1, [2]], {"a": {1: 2}}, {1, 2}, frozenset({3}),
    bytearray(b"ab"), TimeWindow(1, 5), RowKind.DELETE, Row(a=1), range(3), 1j,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_data_and_data_of_penstock_is_read_as_it_is(value: Any) -> None:
    table = ClassTable()
    data = table.dumps(value)
    read = ValueReader(table.schemas(), InertClasses()).loads(data)
    assert (type(read), read) == (type(value), value)


ATTACKS = {
    "a global that is called": b"\x80\x05cos\nsystem\n(S'true'\ntR.",
    "a class that is called": b"\x80\x05cbuiltins\nbytearray\n(K\x05tR.",
    "an extension": b"\x80\x05\x82\x01.",
    "an instance": b"\x80\x05(S'true'\nios\nsystem\n.",
    "a persistent id": b"\x80\x05K\x01Q.",
    "the state of a class": b"\x80\x05cpenstock\n_class_at\nK\x00\x85R}S'max_timestamp'\nK\x01sb.",
    "a set of a range": b"\x80\x05cbuiltins\nset\ncbuiltins\nrange\nJ\xff\xff\xff\x7f\x85R\x85R.",
    "a number that is none": b"\x80\x05cpenstock\n_class_at\nJ\xff\xff\xff\xff\x85R.",
    "bytes that are not there": b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x00.",
    "a long way down": b"\x80\x05" + b"(" * 100_000 + b"t" * 100_000 + b".",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_crafted_value_can_do(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, or becomes something that says what it is."""

    def called(*_: Any) -> None:
        raise AssertionError(attack)

    monkeypatch.setattr(os, "system", called)
    reader = ValueReader([ClassSchema.of(TimeWindow)], InertClasses())
    try:
        value = reader.loads(ATTACKS[attack])
    except (AssertionError, MemoryError):
        raise
    except Exception as error:
        value = error
    assert isinstance(value, OpaqueValue | tuple | Exception)
    assert TimeWindow(0, 5).max_timestamp() == 4


CRAFTED: dict[str, Any] = {
    "a file outside": lambda plain: plain["operators"]["op"]["subtasks"][0]["own"][0].update(
        location="../../etc/passwd", data=None
    ),
    "an absolute file": lambda plain: plain["operators"]["op"]["subtasks"][0]["own"][0].update(
        location="/etc/passwd", data=None
    ),
    "a name outside": lambda plain: plain["operators"]["op"]["subtasks"][0]["keyed"][0]["files"][0].__setitem__(
        0, "../evil"
    ),
    "an unknown field": lambda plain: plain.update(evil=1),
    "another type": lambda plain: plain.update(checkpoint_id="7"),
    "a negative size": lambda plain: plain["operators"]["op"]["subtasks"][0]["own"][0].update(size=-1),
    "an unknown kind": lambda plain: plain.update(kind="evil"),
    "no operators": lambda plain: plain.pop("operators"),
    "something else than operators": lambda plain: plain.update(operators=[1]),
}


@pytest.mark.parametrize("change", CRAFTED)
def test_crafted_metadata_is_refused(change: str, tmp_path: Path) -> None:
    file = savepoint(tmp_path, 1) / "_metadata"
    plain = unseal(file.read_bytes(), b"PENCHKPT", range(4, 5), "metadata")
    CRAFTED[change](plain)
    file.write_bytes(seal(b"PENCHKPT", 4, plain))
    with pytest.raises(CorruptCheckpointError, match="_metadata is damaged or not written by Penstock"):
        load_checkpoint(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"$bytes":9}',
        b'{"$pairs":[[1]]}',
        b'{"$pairs":[[[1],2]]}',
        b'{"$other":1}',
        b"NaN",
        b"1e",
        b"",
    ],
)
def test_bodies_that_are_no_plain_data_are_refused(text: bytes, tmp_path: Path) -> None:
    body = struct.pack("<I", len(text)) + text
    head = struct.pack("<8sHQI", b"PENCHKPT", 4, len(body), zlib.crc32(body))
    with pytest.raises(CorruptCheckpointError, match="is damaged"):
        CheckpointMetadata.decode(head + body, "_metadata")


def test_plain_data_comes_back() -> None:
    plain = {"a": [1, 2.5, None, True, "\ud800"], "$b": {1: b"x", -2: {"": b""}}, "c": {"d": [b"y", b"z"]}}
    assert load_plain(dump_plain(plain)) == plain
    with pytest.raises(TypeError, match="no plain data"):
        dump_plain({"a": {1}})


def test_a_listing_reads_no_value(tmp_path: Path) -> None:
    path = savepoint(tmp_path, Order(1))
    found = Savepoint.load(path)

    class NoClasses(InertClasses):
        def load(self, data: Any, class_of: Any) -> Any:
            raise AssertionError

    summary = Savepoint(str(path), found.metadata, found.files.with_classes(NoClasses())).operators()
    assert {(each.name, each.rows) for each in summary[0].states} == {("total", 1), ("names", 1), ("b", 1), ("own", 1)}
