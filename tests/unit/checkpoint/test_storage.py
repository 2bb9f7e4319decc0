"""Checkpoints on disk: layout, atomic publication, retention, damage, savepoints (RET, SVP)."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.checkpoint.coordinator_messages import StoreMetadata
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorInfo
from penstock.checkpoint.options import CheckpointOptions
from penstock.checkpoint.shared_files import SharedFiles
from penstock.checkpoint.storage import CheckpointStore, StorageAccess, is_kept_after, load_checkpoint
from penstock.checkpoint.subtask_state import OperatorState, SubtaskState
from penstock.errors import CheckpointError, CorruptCheckpointError, StateRestoreError
from penstock.foundation.files.local import LocalFiles, local_files_of
from penstock.statestore.handles import ENTRIES, KeyedStateHandle, StoredBytes
from penstock.statestore.operator_state import OperatorStateSnapshot
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.vocabulary.settings.checkpoint_storage import (
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.vocabulary.settings.modes import CheckpointKind, ExternalizedCheckpointRetention

JOB = "5f8b0c7d9e1a4b3c8d7e6f5a4b3c2d1e"
INFOS = {"counter": OperatorInfo("Count", 2, 128)}
PERIODIC = CheckpointOptions(timestamp=1234)
OWN = StoredBytes(None, 3, zlib.crc32(b"own"), b"own")


@dataclass
class Rule:
    text: str


@pytest.fixture
def access(tmp_path):
    return StorageAccess(FileSystemCheckpointStorage(f"file://{tmp_path}/chk", file_state_size_threshold=100), JOB)


@pytest.fixture
def store(access):
    return CheckpointStore(access)


def subtask_state(target, data, *, shared=(), local=None):
    output = target.create("counter 0/x")
    output.write(data[: len(data) // 2])
    output.write(data[len(data) // 2 :])
    files = [("", output.finish())]
    for number, content in enumerate(shared):
        path = local / f"{number:06}.sst"
        path.write_bytes(content)
        files.append((path.name, target.store_file(path.name, path, is_shared=True)))
    keyed = KeyedStateHandle(0, 64, ENTRIES, tuple(files))
    lists = StoredOperatorState.encode(OperatorStateSnapshot(lists={"buffer": [1, Rule("a")]}), 0)
    return SubtaskState({"counter": OperatorState((keyed,), lists, (OWN,))})


def keyed_bytes(metadata):
    """Return where the keyed state is."""
    return [stored for stored in metadata.stored() if stored != OWN]


def take(store, access, number, states, options=PERIODIC):
    action = StoreMetadata(number, options, {(0, index): state for index, state in enumerate(states)}, frozenset())
    return store.publish(CheckpointMetadata.of(JOB, action, INFOS), options)


def test_ret_02_the_layout_is_flinks(store, access, tmp_path):
    state = subtask_state(access.target(7, PERIODIC), b"x" * 1000)
    path = take(store, access, 7, [state])
    directory = tmp_path / "chk" / JOB / "chk-7"
    assert path == f"file://{directory}"
    (state_file,) = [each for each in directory.iterdir() if each.name != "_metadata"]
    assert state_file.read_bytes() == b"x" * 1000
    assert not [each for each in directory.iterdir() if each.name.startswith(".")], "nothing temporary is left"


@pytest.mark.parametrize("suffix", ["", "/_metadata"])
def test_w_89_a_checkpoint_is_loaded_by_its_directory_or_its_metadata(store, access, suffix):
    path = take(store, access, 50, [subtask_state(access.target(50, PERIODIC), b"abc" * 100)])
    metadata, files = load_checkpoint(path + suffix)
    assert (metadata.job_id, metadata.checkpoint_id, metadata.timestamp) == (JOB, 50, 1234)
    assert metadata.kind is CheckpointKind.PERIODIC
    operator = metadata.operators["counter"]
    assert operator.info == OperatorInfo("Count", 2, 128)
    state = operator.subtasks[0]
    assert state.own == (OWN,)
    assert state.operator.decode("counter") == OperatorStateSnapshot(lists={"buffer": [1, Rule("a")]})
    ((_, stored),) = state.keyed[0].files
    assert files.read(stored) == b"abc" * 100
    assert files.open(stored).read_at(3, 4) == b"abca"
    files = pickle.loads(pickle.dumps(files))
    assert files.read(stored) == b"abc" * 100


def test_small_state_is_in_the_metadata(store, access, tmp_path):
    path = take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"small")])
    assert [each.name for each in (tmp_path / "chk" / JOB / "chk-1").iterdir()] == ["_metadata"]
    metadata, files = load_checkpoint(path)
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"small"]


def test_before_the_metadata_is_published_there_is_no_checkpoint(access, tmp_path):
    subtask_state(access.target(3, PERIODIC), b"x" * 1000)
    with pytest.raises(CheckpointError, match="_metadata is missing"):
        load_checkpoint(str(tmp_path / "chk" / JOB / "chk-3"))


def test_the_jobs_directory_is_no_checkpoint_but_names_those_it_has(store, access, tmp_path):
    for number in (4, 5):
        take(store, access, number, [subtask_state(access.target(number, PERIODIC), b"s")])
    with pytest.raises(CheckpointError, match="chk-4, chk-5"):
        load_checkpoint(str(tmp_path / "chk" / JOB))


def test_every_truncation_of_the_metadata_is_found(store, access, tmp_path):
    take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"small")])
    file = tmp_path / "chk" / JOB / "chk-1" / "_metadata"
    data = file.read_bytes()
    for length in range(0, len(data), 7):
        file.write_bytes(data[:length])
        with pytest.raises(CorruptCheckpointError) as caught:
            load_checkpoint(str(file))
        assert caught.value.file == str(file)


def test_every_changed_byte_of_the_metadata_is_found(store, access, tmp_path):
    take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"small")])
    file = tmp_path / "chk" / JOB / "chk-1" / "_metadata"
    data = file.read_bytes()
    for place in [*range(8), *range(10, len(data), 3)]:
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(CorruptCheckpointError):
            load_checkpoint(str(file))


def test_metadata_of_a_newer_version_is_refused(store, access, tmp_path):
    take(store, access, 1, [])
    file = tmp_path / "chk" / JOB / "chk-1" / "_metadata"
    data = bytearray(file.read_bytes())
    data[8] = 9
    file.write_bytes(data)
    with pytest.raises(CorruptCheckpointError, match="version 9"):
        load_checkpoint(str(file))


def test_missing_truncated_and_damaged_state_files_are_named(store, access, tmp_path):
    path = take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"x" * 1000)])
    (file,) = [each for each in (tmp_path / "chk" / JOB / "chk-1").iterdir() if each.name != "_metadata"]
    file.write_bytes(b"y" * 1000)
    metadata, files = load_checkpoint(path)
    (stored,) = keyed_bytes(metadata)
    with pytest.raises(CorruptCheckpointError, match="checksum"):
        files.read(stored)
    with pytest.raises(CorruptCheckpointError, match="checksum"):
        files.fetch(stored, tmp_path / "copy")
    file.write_bytes(b"x" * 999)
    with pytest.raises(CorruptCheckpointError, match="999 bytes long instead of 1000") as caught:
        load_checkpoint(path)
    assert caught.value.file == str(file)
    file.unlink()
    with pytest.raises(CorruptCheckpointError, match="is missing"):
        load_checkpoint(path)


def test_a_publication_that_fails_leaves_no_checkpoint(access, monkeypatch, tmp_path):
    store = CheckpointStore(access)
    state = subtask_state(access.target(1, PERIODIC), b"x" * 1000)

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        take(store, access, 1, [state])
    assert not [each for each in (tmp_path / "chk" / JOB / "chk-1").iterdir() if "_metadata" in each.name]


def test_a_deleted_checkpoint_leaves_nothing(store, access, tmp_path):
    take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"x" * 1000)])
    store.delete(1)
    store.delete(1)
    assert list((tmp_path / "chk" / JOB).iterdir()) == []


def test_shared_files_go_with_the_last_checkpoint_that_needs_them(store, access, tmp_path):
    shared = tmp_path / "chk" / JOB / "shared"
    store.begin(1)
    first = subtask_state(access.target(1, PERIODIC), b"1", shared=[b"one", b"two"], local=tmp_path)
    take(store, access, 1, [first])
    assert sorted(each.read_bytes() for each in shared.iterdir()) == [b"one", b"two"]
    kept = first.operators["counter"].keyed[0].files[2]
    store.begin(2)
    second = subtask_state(access.target(2, PERIODIC), b"2")
    keyed = KeyedStateHandle(0, 64, ENTRIES, (kept,))
    second.operators["counter"] = OperatorState((keyed,))
    take(store, access, 2, [second])
    store.delete(1)
    assert [each.read_bytes() for each in shared.iterdir()] == [b"two"]
    metadata, files = load_checkpoint(store.path_of(2))
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"two"]
    store.delete(2)
    assert list(shared.iterdir()) == []


def test_what_a_late_task_stored_is_discarded_but_not_what_others_use(store, access, tmp_path):
    first = subtask_state(access.target(1, PERIODIC), b"1", shared=[b"one"], local=tmp_path)
    take(store, access, 1, [first])
    late = subtask_state(access.target(2, PERIODIC), b"x" * 500, shared=[b"new"], local=tmp_path)
    used = first.operators["counter"].keyed[0].files[1]
    handle = late.operators["counter"].keyed[0]
    both = KeyedStateHandle(0, 64, ENTRIES, (*handle.files, used))
    late.operators["counter"] = OperatorState((both,))
    store.discard(2, late)
    assert [each.read_bytes() for each in (tmp_path / "chk" / JOB / "shared").iterdir()] == [b"one"]
    assert not (tmp_path / "chk" / JOB / "chk-2").exists()


def test_delete_all_takes_the_newest_last(store, access, monkeypatch):
    for number in (9, 10, 11):
        take(store, access, number, [subtask_state(access.target(number, PERIODIC), b"x")])
    deleted = []
    monkeypatch.setattr(LocalFiles, "delete", lambda self, path: deleted.append(Path(path).parent.name))
    store.delete_all()
    assert deleted == ["chk-9", "chk-10", "chk-11"], "by number: after a crash in between the newest is still there"


def test_delete_all_removes_the_job_but_not_its_neighbours(store, access, tmp_path):
    take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"x" * 1000)])
    neighbour = tmp_path / "chk" / "another"
    neighbour.mkdir()
    store.delete_all()
    assert list((tmp_path / "chk").iterdir()) == [neighbour]


def test_svp_07_a_savepoint_is_one_directory_that_can_be_moved(store, access, tmp_path):
    directory = access.new_savepoint_directory(str(tmp_path / "savepoints"))
    name = Path(directory).name
    assert name.startswith("savepoint-5f8b0c-")
    assert len(name) == len("savepoint-5f8b0c-") + 12
    options = CheckpointOptions(kind=CheckpointKind.SAVEPOINT, location=directory)
    last = subtask_state(access.last_target(), b"z" * 500)
    state = subtask_state(access.target(9, options), b"x" * 1000, shared=[b"not shared here"], local=tmp_path)
    assert take(store, access, 9, [state, last], options) == directory
    store.delete_all()
    moved = tmp_path / "elsewhere"
    Path(directory).rename(moved)
    metadata, files = load_checkpoint(str(moved))
    assert metadata.kind is CheckpointKind.SAVEPOINT
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"x" * 1000, b"not shared here", b"z" * 500]


def test_a_savepoint_needs_a_directory(tmp_path):
    access = StorageAccess(FileSystemCheckpointStorage(str(tmp_path)), JOB)
    with pytest.raises(CheckpointError, match="savepoint-dir"):
        access.new_savepoint_directory(None)
    access = StorageAccess(FileSystemCheckpointStorage(str(tmp_path), savepoint_path=f"{tmp_path}/own"), JOB)
    assert access.new_savepoint_directory(None).startswith(f"{tmp_path}/own/savepoint-5f8b0c-")


def test_the_last_state_of_a_finished_task_is_shared_by_later_checkpoints(store, access, tmp_path):
    last = subtask_state(access.last_target(), b"x" * 1000)
    for number in (1, 2):
        store.begin(number)
        take(store, access, number, [last])
    store.delete(1)
    metadata, files = load_checkpoint(store.path_of(2))
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"x" * 1000]
    store.delete(2)
    assert list((tmp_path / "chk" / JOB / "shared").iterdir()) == []


def test_a_claimed_checkpoint_is_deleted_with_the_files_that_no_other_one_of_its_run_needs(store, access, tmp_path):
    run = tmp_path / "chk" / JOB
    store.begin(1)
    first = subtask_state(access.target(1, PERIODIC), b"1" * 100, shared=[b"one", b"two"], local=tmp_path)
    take(store, access, 1, [first])
    store.begin(2)
    second = subtask_state(access.target(2, PERIODIC), b"2" * 100, shared=[b"three"], local=tmp_path)
    kept = first.operators["counter"].keyed[0].files[2]
    files = (*second.operators["counter"].keyed[0].files, kept)
    second.operators["counter"] = OperatorState((KeyedStateHandle(0, 64, ENTRIES, files),))
    take(store, access, 2, [second])

    heir = CheckpointStore(StorageAccess(FileSystemCheckpointStorage(str(tmp_path / "chk")), "a" * 32))
    heir.claim(f"{run}/chk-2/_metadata", load_checkpoint(str(run / "chk-2"))[0])
    assert heir.load(2)[0].checkpoint_id == 2
    heir.delete(2)
    assert sorted(each.name for each in run.iterdir()) == ["chk-1", "shared"]
    assert sorted(each.read_bytes() for each in (run / "shared").iterdir()) == [b"one", b"two"]
    heir.claim(str(run / "chk-1"), load_checkpoint(str(run / "chk-1"))[0])
    heir.delete(1)
    assert not run.exists(), "nothing is left of that run"


def test_a_claimed_savepoint_is_deleted_as_a_whole(store, access, tmp_path):
    directory = access.new_savepoint_directory(str(tmp_path / "savepoints"))
    options = CheckpointOptions(kind=CheckpointKind.SAVEPOINT, location=directory)
    take(store, access, 9, [subtask_state(access.target(9, options), b"x" * 1000)], options)
    heir = CheckpointStore(StorageAccess(FileSystemCheckpointStorage(str(tmp_path / "chk")), "a" * 32))
    heir.claim(directory, load_checkpoint(directory)[0])
    heir.delete_all()
    assert load_checkpoint(directory)[0].checkpoint_id == 9, "only the job's own"
    heir.delete(9)
    assert list((tmp_path / "savepoints").iterdir()) == []


def test_the_drivers_memory_keeps_small_state_and_says_what_to_do_with_large_one(tmp_path):
    access = StorageAccess(JobManagerCheckpointStorage(max_state_size=1000), JOB)
    store = CheckpointStore(access)
    state = subtask_state(access.target(1, PERIODIC), b"x" * 1000)
    assert take(store, access, 1, [state]) == ""
    metadata, files = store.load(1)
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"x" * 1000]
    with pytest.raises(CheckpointError, match="larger than 1000 bytes"):
        subtask_state(access.target(2, PERIODIC), b"x" * 1001)
    store.delete(1)
    with pytest.raises(KeyError):
        store.load(1)


def test_the_drivers_memory_can_have_a_directory_for_what_outlives_the_job(tmp_path):
    access = StorageAccess(JobManagerCheckpointStorage(str(tmp_path)), JOB)
    store = CheckpointStore(access)
    path = take(store, access, 1, [subtask_state(access.target(1, PERIODIC), b"x" * 1000)])
    assert [each.name for each in Path(path).iterdir()] == ["_metadata"]
    metadata, files = load_checkpoint(path)
    assert [files.read(stored) for stored in keyed_bytes(metadata)] == [b"x" * 1000]


def test_without_a_storage_the_drivers_memory_is_used():
    assert StorageAccess(None, JOB).directory is None


def test_a_strange_storage_is_refused():
    with pytest.raises(CheckpointError, match="CustomCheckpointStorage"):
        StorageAccess(CustomCheckpointStorage(dict), JOB)


def test_unreadable_operator_state_names_the_operator(monkeypatch):
    class Gone:
        pass

    Gone.__qualname__ = "Gone"
    monkeypatch.setitem(globals(), "Gone", Gone)
    stored = StoredOperatorState.encode(OperatorStateSnapshot(lists={"a": [Gone()]}), 0)
    action = StoreMetadata(1, PERIODIC, {(0, 0): SubtaskState({"counter": OperatorState((), stored)})}, frozenset())
    data = CheckpointMetadata.of(JOB, action, INFOS).encode()
    monkeypatch.delitem(globals(), "Gone")
    read = CheckpointMetadata.decode(data, "x").operators["counter"].subtasks[0].operator
    with pytest.raises(StateRestoreError, match="Gone") as caught:
        read.decode("Count (counter)")
    assert caught.value.operator == "Count (counter)"


KEPT = {
    # retention: finished, cancelled, failed
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: (False, True, True),
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: (False, False, True),
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: (False, False, False),
}


@pytest.mark.parametrize("retention", KEPT, ids=lambda retention: retention.name)
def test_w_90_what_stays_when_a_job_ends(retention):
    assert tuple(is_kept_after(end, retention) for end in ("finished", "cancelled", "failed")) == KEPT[retention]


def test_a_shared_file_is_kept_for_checkpoints_that_were_under_way_when_its_last_owner_went():
    shared = SharedFiles()
    shared.begin(1)
    assert shared.keep(1, {"a"}) == set()
    shared.begin(2)
    shared.begin(3)
    shared.keep(2, {"b"})
    assert shared.give_up(1) == set(), "3 may have been told to build on 1"
    assert shared.is_used("a")
    assert shared.keep(3, {"a", "c"}) == set()
    assert shared.give_up(2) == {"b"}
    assert shared.give_up(3) == {"a", "c"}


def test_a_shared_file_goes_once_nobody_can_want_it():
    shared = SharedFiles()
    shared.keep(1, {"a"})
    shared.begin(2)
    shared.begin(3)
    shared.give_up(1)
    assert shared.give_up(2) == set()
    shared.begin(4)
    assert shared.give_up(3) == {"a"}, "4 began later and was not told of 1"


@pytest.mark.parametrize("location", ["file:///a/b", "/a/b", "file:/a/b"])
def test_local_locations(location):
    files, path = local_files_of(location)
    assert isinstance(files, LocalFiles)
    assert path == "/a/b"


def test_other_file_systems_are_not_local():
    with pytest.raises(ValueError, match="s3://bucket/a"):
        local_files_of("s3://bucket/a")


def test_handles_know_their_sizes():
    files = (("a", StoredBytes("x", 5, zlib.crc32(b""))), ("b", StoredBytes("../shared/y", 7, 0, is_shared=True)))
    handle = KeyedStateHandle(0, 64, ENTRIES, files)
    assert (handle.size, handle.new_size, handle.key_groups) == (12, 5, range(64))
