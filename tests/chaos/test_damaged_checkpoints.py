"""Files of a checkpoint are cut short, changed or gone: the error names the file, and the one before still works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Configuration,
    CorruptCheckpointError,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    StreamExecutionEnvironment,
)
from tests.chaos.replayed_job import Readings, build, expected, final_state
from tests.spark.checkpoint_bench import SUMS, CheckpointBench, result
from tests.spark.jobs import wait_until

READINGS = Readings(records=1500)


def environment(place: Path, restore: Path | None = None) -> StreamExecutionEnvironment:
    settings = {"execution.checkpointing.interval": "100 ms", "execution.checkpointing.num-retained": "10"}
    if restore is not None:
        settings["execution.state-recovery.path"] = str(restore)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings)).set_parallelism(2)
    config = env.get_checkpoint_config()
    config.set_checkpoint_storage(FileSystemCheckpointStorage(f"file://{place}/checkpoints", 0))
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    build(env, READINGS, place / "output", None)
    return env


def checkpoints(place: Path) -> list[Path]:
    found = [path.parent for path in place.glob("checkpoints/*/chk-*/_metadata")]
    return sorted(found, key=lambda path: int(path.name[4:]))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def a_state(checkpoint: Path) -> Path:
    """The largest file of state: somebody reads it for sure."""
    return max(
        (path for path in checkpoint.iterdir() if path.name != "_metadata"), key=lambda path: path.stat().st_size
    )


DAMAGES: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "metadata cut short": (lambda checkpoint: checkpoint / "_metadata", truncate),
    "metadata changed": (lambda checkpoint: checkpoint / "_metadata", change),
    "state cut short": (a_state, truncate),
    "state changed": (a_state, change),
    "state gone": (a_state, Path.unlink),
}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_restores(tmp_path: Path) -> None:
    client = environment(tmp_path).execute_async()
    wait_until(lambda: len(checkpoints(tmp_path)) >= len(DAMAGES) + 2, "enough checkpoints")
    client.cancel().result(30)
    kept = checkpoints(tmp_path)
    for (damaged_file, damage), checkpoint in zip(DAMAGES.values(), reversed(kept), strict=False):
        file = damaged_file(checkpoint)
        damage(file)
        with pytest.raises(CorruptCheckpointError, match=file.name) as caught:
            environment(tmp_path, checkpoint).execute()
        assert Path(caught.value.file) == file
    environment(tmp_path, kept[-len(DAMAGES) - 1]).execute()
    assert final_state(tmp_path / "output") == expected(READINGS)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["metadata changed", "state cut short", "state changed"])
def test_a_restart_takes_the_checkpoint_before_a_damaged_one(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    damaged_file, damage = DAMAGES[name]
    bench = CheckpointBench(tmp_path)
    env = bench.env(
        2000,
        **{
            "execution.checkpointing.data-inline-threshold": "0",
            "execution.checkpointing.num-retained": "3",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1",
            "restart-strategy.fixed-delay.delay": "10 ms",
        },
    )
    bench.sums(env, at=40)
    client = env.execute_async()
    bench.tap.open(10)
    bench.wait_for_records(20)
    newest = bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    file = damaged_file(bench.path_of(newest))
    damage(file)
    bench.tap.open(1000)
    result(client)
    assert bench.results.read() == SUMS
    assert bench.diary.lines("restored")[-1] == str(newest - 1)
    (line,) = [each.getMessage() for each in caplog.records if "cannot be used" in each.getMessage()]
    assert str(file) in line
    assert f"checkpoint {newest} cannot be used" in line
    assert f"goes back to checkpoint {newest - 1}" in line
