"""Where tests of checkpoints on Spark have their checkpoints, their input, their results and their diary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock import Configuration, JobStatus, StreamExecutionEnvironment
from tests.chaos.lifecycle import Diary
from tests.spark.checkpoint_jobs import Fuse, Notified, Results, Sum, Tap, numbers
from tests.spark.jobs import wait_until

__all__ = ["SUMS", "CheckpointBench", "checkpoint_ids", "result", "running"]

SUMS = {str(key): (len(range(key, 100, 3)), sum(range(key, 100, 3))) for key in range(3)}
"""Of the numbers below 100, by their remainder."""


def checkpoint_ids(directory: Path, job: str = "*") -> list[int]:
    """Returns the complete checkpoints of a job, or of the one job in a directory."""
    return sorted(int(path.parent.name[4:]) for path in directory.glob(f"{job}/chk-*/_metadata"))


def running(client: Any) -> Any:
    """Waits until all tasks of a job run."""
    wait_until(lambda: client.get_job_status().result() is not JobStatus.CREATED, "the job runs")
    return client


def result(client: Any, seconds: float = 90) -> Any:
    return client.get_job_execution_result().result(seconds)


class CheckpointBench:
    """Where a test has its checkpoints, its input, its results and its diary."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.checkpoints = place / "checkpoints"
        self.savepoints = place / "savepoints"
        self.tap = Tap(place / "tap")
        self.results = Results(place / "results")
        self.seen = Results(place / "seen")
        self.diary = Diary(place / "diary")

    def env(self, interval: int | None = 50, parallelism: int = 2, **settings: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        if interval is not None:
            env.enable_checkpointing(interval)
        env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{self.checkpoints}")
        env.configure(Configuration.from_dict({key.replace("__", "."): value for key, value in settings.items()}))
        return env

    def sums(self, env: StreamExecutionEnvironment, at: int = -1, times: int = 1, limit: int = 100) -> None:
        """Sums numbers by their remainder; a record may make it fail."""
        checked = numbers(env, self.tap, limit).map(Fuse(self.diary, at, times)).map(Notified(self.diary)).uid("watch")
        checked.key_by(lambda n: n % 3).process(Sum()).uid("sums").add_sink(self.results.sink()).name("results")

    def wait_for_checkpoint(self, after: int = 0) -> int:
        wait_until(lambda: max(checkpoint_ids(self.checkpoints), default=0) > after, "a checkpoint", 60)
        return max(checkpoint_ids(self.checkpoints))

    def wait_for_records(self, count: int) -> None:
        wait_until(lambda: sum(each[0] for each in self.results.read().values()) >= count, f"{count} records")

    def wait_for_seen(self, count: int) -> None:
        wait_until(lambda: sum(each[0] for each in self.seen.read().values()) >= count, f"{count} records")

    def path_of(self, checkpoint_id: int) -> Path:
        (found,) = self.checkpoints.glob(f"*/chk-{checkpoint_id}")
        return found
