"""What a job needs of its storage is tried before it starts."""

from __future__ import annotations

import pytest

from penstock import Configuration, StreamExecutionEnvironment
from penstock.checkpoint.job_storage import JobStorage
from penstock.errors import CheckpointError, CheckpointStorageError, CorruptCheckpointError, StateRestoreError
from penstock.foundation.files.by_uri import arrow_files_of, files_of
from penstock.testing.local_run import LocalRun


class _SparkWasAsked(Exception):
    pass


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch):
    def refuse(*_):
        raise _SparkWasAsked

    monkeypatch.setattr("penstock.execution.spark.driver.job_run.find_session", refuse)


def program(interval=1000, **settings):
    configuration = Configuration.from_dict({key.replace("__", "."): value for key, value in settings.items()})
    env = StreamExecutionEnvironment(configuration).set_parallelism(1)
    if interval is not None:
        env.enable_checkpointing(interval)
    numbers = env.from_collection([1, 2, 3]).uid("numbers")
    numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b).uid("sums").print().uid("out")
    return env


def refusal(env, kind=CheckpointError):
    with pytest.raises(kind) as caught:
        env.execute()
    return str(caught.value)


def test_a_checkpoint_directory_that_cannot_be_written_is_refused():
    said = refusal(program(execution__checkpointing__dir="file:///proc/nope"), CheckpointStorageError)
    assert "Checkpoints cannot be written to file:///proc/nope: " in said
    assert "all executors must be able to write" in said
    assert "set_checkpoint_storage_dir" in said


def test_a_checkpoint_directory_below_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("a file")
    said = refusal(program(execution__checkpointing__dir=f"file://{tmp_path}/taken/below"), CheckpointStorageError)
    assert "Not a directory" in said


def test_an_unknown_file_system_is_refused():
    said = refusal(program(execution__checkpointing__dir="nope://there/checkpoints"), CheckpointStorageError)
    assert "Checkpoints cannot be written to nope://there/checkpoints" in said


def test_a_savepoint_directory_that_cannot_be_written_is_refused():
    env = program(None)
    env.set_default_savepoint_directory("file:///proc/nope")
    said = refusal(env, CheckpointStorageError)
    assert "Savepoints cannot be written to file:///proc/nope: " in said


def test_directories_that_can_be_written_are_left_as_they_were(tmp_path):
    env = program(execution__checkpointing__dir=f"file://{tmp_path}/new/checkpoints")
    env.set_default_savepoint_directory(f"{tmp_path}/savepoints")
    refusal(env, _SparkWasAsked)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_without_checkpoints_their_directory_does_not_matter():
    refusal(program(None, execution__checkpointing__dir="file:///proc/nope"), _SparkWasAsked)


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs"])
def test_a_missing_hdfs_library_is_said_in_a_few_lines(scheme, monkeypatch):
    monkeypatch.setattr("penstock.foundation.files.by_uri.find_library", lambda _: None)
    for name in ("ARROW_LIBHDFS_DIR", "HADOOP_HOME", "LD_LIBRARY_PATH"):
        monkeypatch.delenv(name, raising=False)
    said = refusal(program(execution__checkpointing__dir=f"{scheme}://name-node:8020/checkpoints"))
    assert "dlopen" not in said
    assert "libhdfs, which is not here" in said
    assert "HADOOP_HOME" in said
    assert "JAVA_HOME" in said
    assert "CLASSPATH" in said
    assert len(said.splitlines()) <= 3


def test_where_there_is_an_hdfs_library_pyarrow_loads_it(tmp_path, monkeypatch):
    # Not a library: what pyarrow says of it is not followed by all the places where it has looked.
    (tmp_path / "libhdfs.so").write_text("no library")
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(tmp_path))
    with pytest.raises(OSError, match="Unable to load") as caught:
        arrow_files_of("hdfs://name-node:8020/data")
    assert len(str(caught.value).splitlines()) == 1
    assert "HADOOP_HOME" in str(caught.value)


# -- the checkpoint to start from


@pytest.fixture
def savepoint(tmp_path):
    run = LocalRun(program()._build_job(None))
    run.step()
    path = run.savepoint(tmp_path / "savepoints")
    run.close()
    return path


def refused_start(path, kind=CheckpointError):
    env = StreamExecutionEnvironment(Configuration.from_dict({"execution.state-recovery.path": str(path)}))
    env.from_collection([1, 2, 3]).uid("other").print().uid("out")
    return refusal(env, kind)


def test_a_savepoint_can_be_started_from(savepoint):
    env = program()
    job = env._build_job(None)
    object.__setattr__(job, "restore_path", savepoint)
    storage = JobStorage.of(job, files_of)
    assert storage.start is not None
    assert storage.start[0].checkpoint_id == 1


def test_a_missing_path_is_refused(tmp_path):
    said = refused_start(tmp_path / "nowhere")
    assert f"There is no checkpoint or savepoint at {tmp_path}/nowhere" in said
    assert "no such directory" in said


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "readme.txt").write_text("no checkpoint")
    assert "_metadata is missing" in refused_start(tmp_path)


def test_damaged_metadata_is_refused(savepoint, tmp_path):
    file = tmp_path.joinpath("savepoints", savepoint.rpartition("/")[2], "_metadata")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "is damaged" in refused_start(savepoint, CorruptCheckpointError)
    file.write_bytes(whole[:-1])
    assert "is truncated" in refused_start(savepoint, CorruptCheckpointError)
    file.write_text("not what it should be, but long enough for a header")
    assert "holds no checkpoint metadata" in refused_start(savepoint, CorruptCheckpointError)


def test_a_savepoint_of_flink_is_refused(tmp_path):
    # Flink's file begins with the number 0x4960672d.
    (tmp_path / "_metadata").write_bytes(bytes([0x49, 0x60, 0x67, 0x2D]) + bytes(100))
    assert "was written by Apache Flink" in refused_start(tmp_path, CorruptCheckpointError)


def test_a_path_that_cannot_be_reached_is_refused():
    assert "nope://there" in refused_start("nope://there/savepoint-1")


def test_state_that_nobody_takes_is_refused(savepoint):
    assert "allow_non_restored_state" in refused_start(savepoint, StateRestoreError)


# -- savepoints of a running job


def test_a_savepoint_that_cannot_be_written_leaves_the_job_alone(tmp_path):
    run = LocalRun(program()._build_job(None))
    run.open()
    with pytest.raises(CheckpointStorageError, match="Savepoints cannot be written to file:///proc/nope"):
        run.savepoint("file:///proc/nope")
    assert run.savepoint(tmp_path)
    run.run()
    assert sorted(run.printed) == ["1", "2", "4"]
