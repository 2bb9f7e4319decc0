"""The worked cases of file sinks: life cycle, names, rolling, buckets, restarts."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner, BucketContext, DateTimeBucketAssigner
from penstock.connectors.files.sink.part_names import OutputFileConfig
from penstock.connectors.files.sink.rolling_policy import CheckpointRollingPolicy, DefaultRollingPolicy, RollingPolicy
from penstock.connectors.files.sink.sink import FileSink, StreamingFileSink
from penstock.errors import ProgramError, StateRestoreError
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory, Encoder
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun, finished, names

MINUTE = 60_000


def millis(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


class BySize(RollingPolicy[str]):
    def __init__(self, size: int) -> None:
        self.size = size

    def should_roll_on_checkpoint(self, part_file_state) -> bool:
        return False

    def should_roll_on_event(self, part_file_state, element) -> bool:
        return part_file_state.get_size() >= self.size


class LineWriter(BulkWriter[str]):
    def __init__(self, stream) -> None:
        self.stream = stream

    def add_element(self, element: str) -> None:
        self.stream.write(f"{element}\n".encode())

    def flush(self) -> None:
        self.stream.flush()

    def finish(self) -> None:
        self.stream.write(b"end\n")


class LineWriterFactory(BulkWriterFactory[str]):
    def create(self, stream) -> BulkWriter[str]:
        return LineWriter(stream)


def rows(base: Path, sink: type = FileSink):
    return sink.for_row_format(str(base), Encoder.simple_string_encoder()).with_bucket_assigner(
        BucketAssigner.base_path_bucket_assigner()
    )


def hourly(base: Path, sink: type = FileSink):
    assigner = BucketAssigner.date_time_bucket_assigner(timezone_id="UTC")
    return rows(base, sink).with_bucket_assigner(assigner).with_rolling_policy(BySize(4))


@pytest.mark.parametrize("sink", [FileSink, StreamingFileSink])
def test_w_105_life_cycle(tmp_path, sink):
    run = FileSinkRun(hourly(tmp_path, sink).build(), parallelism=2, now=millis("2020-03-25T12:30"))
    run.write("a", subtask=0)
    run.write("bbb", subtask=1)
    assert names(tmp_path) == ["2020-03-25--12/.part-0-0.inprogress", "2020-03-25--12/.part-1-0.inprogress"]
    run.write("c", subtask=1)
    rolled = [f"2020-03-25--12/.part-{part}.inprogress" for part in ("0-0", "1-0", "1-1")]
    assert names(tmp_path) == rolled
    run.checkpoint()
    after_checkpoint = [f"2020-03-25--12/.part-{part}.inprogress" for part in ("0-0", "1-1")]
    assert names(tmp_path) == [*after_checkpoint, "2020-03-25--12/part-1-0"]
    # A restart: subtask 1 has reached number 1, so every subtask goes on with 2, and the open files are continued,
    # each in a copy until it is finished.
    run.restart()
    run.now = millis("2020-03-25T13:00")
    run.write("d", subtask=0)
    assert sorted({*names(tmp_path)}) == [
        *after_checkpoint,
        "2020-03-25--12/part-1-0",
        "2020-03-25--13/.part-0-2.inprogress",
    ]
    assert finished(tmp_path) == {"2020-03-25--12/part-1-0": "bbb\n"}


def test_w_105_without_a_restart_the_numbers_of_a_subtask_follow_each_other(tmp_path):
    run = FileSinkRun(hourly(tmp_path).build(), now=millis("2020-03-25T12:30"))
    run.write("a")
    run.now = millis("2020-03-25T13:00")
    run.write("b")
    assert names(tmp_path) == ["2020-03-25--12/.part-0-0.inprogress", "2020-03-25--13/.part-0-1.inprogress"]


def test_w_105_unfinished_names_end_in_an_id(tmp_path):
    run = FileSinkRun(rows(tmp_path).build())
    run.write("a")
    (path,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.part-0-0\.inprogress\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", path.name)


def test_w_106_prefix_and_suffix(tmp_path):
    config = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".txt").build()
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    run = FileSinkRun(rows(tmp_path).with_output_file_config(config).with_rolling_policy(policy).build())
    run.write("a")
    run.checkpoint()
    run.write("b")
    run.checkpoint()
    assert finished(tmp_path) == {"prefix-0-0.txt": "a\n", "prefix-0-1.txt": "b\n"}


def policy_of_w_107() -> DefaultRollingPolicy:
    return RollingPolicy.default_rolling_policy(1024**3, 15 * MINUTE, 5 * MINUTE)


def test_w_107_rolls_after_15_minutes_open(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(policy_of_w_107()).build())
    for minute in range(15):
        run.advance_to(minute * MINUTE)
        run.write(str(minute))
    run.advance_to(15 * MINUTE - 1)
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.advance_to(15 * MINUTE)
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "".join(f"{minute}\n" for minute in range(15))}


def test_w_107_rolls_after_5_minutes_idle(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(policy_of_w_107()).build())
    run.advance_to(30_000)
    run.write("a")
    # Idle for five minutes at 5:30, but it is only tested every minute: at 6:00.
    run.advance_to(6 * MINUTE - 1)
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.advance_to(6 * MINUTE)
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\n"}


def test_w_107_rolls_at_its_size(tmp_path):
    policy = DefaultRollingPolicy.builder().with_max_part_size(6).build()
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(policy).build())
    run.write("a", "b", "c", "d", "e", "f", "g")
    assert names(tmp_path) == [f".part-0-{number}.inprogress" for number in range(3)]
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nc\n", "part-0-1": "d\ne\nf\n"}


def test_w_107_a_full_file_rolls_at_the_checkpoint(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(RollingPolicy.default_rolling_policy(2)).build())
    run.write("a")
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\n"}


def test_w_107_demo_two_seconds_one_second(tmp_path):
    policy = RollingPolicy.default_rolling_policy(1024**3, 2000, 1000)
    sink = rows(tmp_path).with_rolling_policy(policy).with_bucket_check_interval(500).build()
    run = FileSinkRun(sink)
    run.write("a")
    run.advance_to(900)
    run.write("b")
    run.advance_to(1899)
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.advance_to(2000)
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\nb\n"}


def test_w_108_bulk_closes_one_file_per_bucket_and_subtask_at_every_checkpoint(tmp_path):
    class ByLetter(BucketAssigner[str]):
        def get_bucket_id(self, element: str, context: BucketContext) -> str:
            return element[0]

    sink = FileSink.for_bulk_format(str(tmp_path), LineWriterFactory()).with_bucket_assigner(ByLetter()).build()
    run = FileSinkRun(sink, parallelism=2)
    run.write("a1", "b1", "a2", subtask=0)
    run.write("a3", subtask=1)
    run.checkpoint()
    assert finished(tmp_path) == {
        "a/part-0-0": "a1\na2\nend\n",
        "a/part-1-0": "a3\nend\n",
        "b/part-0-1": "b1\nend\n",
    }
    run.write("a4", subtask=0)
    run.checkpoint()
    assert finished(tmp_path)["a/part-0-2"] == "a4\nend\n"


@pytest.mark.parametrize("sink", [FileSink, StreamingFileSink])
def test_w_108_bulk_rejects_other_policies(tmp_path, sink):
    builder = sink.for_bulk_format(str(tmp_path), LineWriterFactory())
    with pytest.raises(ProgramError, match="on_checkpoint_rolling_policy"):
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    with pytest.raises(ValueError, match="BySize"):
        builder.with_rolling_policy(BySize(4))
    builder.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()


def test_bulk_accepts_own_policies_that_roll_at_checkpoints(tmp_path):
    class EveryRecord(CheckpointRollingPolicy[str]):
        def should_roll_on_event(self, part_file_state, element: str) -> bool:
            return True

    builder = FileSink.for_bulk_format(str(tmp_path), LineWriterFactory()).with_rolling_policy(EveryRecord())
    run = FileSinkRun(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.write("a", "b")
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\nend\n", "part-0-1": "b\nend\n"}


def test_w_109_without_checkpoints_no_file_is_ever_finished(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(RollingPolicy.default_rolling_policy(2, 2000, 1000)).build())
    run.write("a", "b")
    run.advance_to(10 * MINUTE)
    run.write("c")
    for writer in run.writers:
        writer.flush(end_of_input=True)
        writer.prepare_commit()
    run.crash()
    assert names(tmp_path) == [f".part-0-{number}.inprogress" for number in range(3)]


def test_w_109_bounded_jobs_finish_their_files_at_the_end(tmp_path):
    run = FileSinkRun(rows(tmp_path).build())
    run.write("a")
    run.finish()
    assert names(tmp_path) == ["part-0-0"]


def test_w_110_base_path_assigner(tmp_path):
    run = FileSinkRun(rows(tmp_path).build(), now=millis("2020-03-25T12:30"))
    run.write("a")
    run.finish()
    assert finished(tmp_path) == {"part-0-0": "a\n"}


@pytest.mark.parametrize(
    ("pattern", "zone", "bucket"),
    [
        ("yyyy-MM-dd--HH", "UTC", "2020-03-25--12"),
        ("yyyy-MM-dd", "UTC", "2020-03-25"),
        ("yyyy-MM-dd--HH", "Asia/Shanghai", "2020-03-25--20"),
        ("yyyy-MM-dd--HH", "America/New_York", "2020-03-25--08"),
        ("yyyy/MM/dd/HH-mm", "Asia/Kolkata", "2020/03/25/18-00"),
    ],
)
def test_w_111_date_time_assigner(tmp_path, pattern, zone, bucket):
    assigner = BucketAssigner.date_time_bucket_assigner(pattern, zone)
    run = FileSinkRun(rows(tmp_path).with_bucket_assigner(assigner).build(), now=millis("2020-03-25T12:30"))
    run.write("a")
    run.finish()
    assert finished(tmp_path) == {f"{bucket}/part-0-0": "a\n"}


def test_w_111_is_the_assigner_of_sinks_that_choose_none(tmp_path):
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    now = millis("2020-03-25T12:30")
    run = FileSinkRun(sink, now=now)
    run.write("a")
    here = datetime.fromtimestamp(now / 1000, UTC).astimezone()
    assert names(tmp_path) == [f"{here:%Y-%m-%d--%H}/.part-0-0.inprogress"]
    assert DateTimeBucketAssigner().bucket_at(now) == f"{here:%Y-%m-%d--%H}"


@pytest.mark.parametrize("sink", [FileSink, StreamingFileSink])
def test_w_112_restarted_subtasks_go_on_behind_the_largest_number(tmp_path, sink):
    run = FileSinkRun(rows(tmp_path, sink).with_rolling_policy(BySize(1)).build(), parallelism=2)
    run.write(*"abcd", subtask=0)
    run.write(*"abcdefgh", subtask=1)
    assert names(tmp_path)[3] == ".part-0-3.inprogress"
    assert names(tmp_path)[-1] == ".part-1-7.inprogress"
    run.checkpoint()
    run.restart()
    run.write("x", "y", subtask=0)
    run.write("x", "y", subtask=1)
    run.finish()
    found = finished(tmp_path)
    assert {name: found[name] for name in found if name > "part-1-7" or name in ("part-0-8", "part-0-9")} == {
        "part-0-8": "x\n",
        "part-0-9": "y\n",
        "part-1-8": "x\n",
        "part-1-9": "y\n",
    }
    assert len(found) == 4 + 8 + 4


def test_w_98_a_file_is_moved_when_its_checkpoint_is_complete(tmp_path):
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(policy).build())
    run.write("a")
    run.snapshot()
    run.write("b")
    assert names(tmp_path) == [".part-0-0.inprogress", ".part-0-1.inprogress"]
    # The crash comes before anything was moved: what the checkpoint holds is moved, the rest is deleted.
    run.restart()
    assert names(tmp_path) == ["part-0-0"]
    run.write("b")
    run.finish()
    assert finished(tmp_path) == {"part-0-0": "a\n", "part-0-1": "b\n"}


def test_w_98_a_file_that_was_moved_before_the_crash_is_left_alone(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build())
    run.write("a")
    run.checkpoint()
    run.restart()
    assert finished(tmp_path) == {"part-0-0": "a\n"}
    (tmp_path / "part-0-0").unlink()  # its reader has taken it
    run.restart()
    assert names(tmp_path) == []


def test_fsk_27_open_files_are_cut_and_continued(tmp_path):
    run = FileSinkRun(rows(tmp_path).build())
    run.write("a", "b")
    run.checkpoint()
    run.write("lost")
    run.restart()
    run.write("c")
    run.restart()
    run.write("d")
    run.finish()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nd\n"}


def test_fsk_27_a_file_closed_after_the_checkpoint_is_opened_again(tmp_path):
    run = FileSinkRun(rows(tmp_path).with_rolling_policy(BySize(4)).build())
    run.write("a")
    run.checkpoint()
    run.write("b", "c", "d", "e")
    run.restart()
    assert names(tmp_path) == [".part-0-0.inprogress"] * 2, "the one of the checkpoint, and the copy that is continued"
    run.write("b")
    run.finish()
    assert finished(tmp_path) == {"part-0-0": "a\nb\n"}
    assert names(tmp_path) == ["part-0-0"]


def test_a_process_that_does_not_die_in_time_spoils_nothing(tmp_path):
    run = FileSinkRun(rows(tmp_path).build())
    run.write("a")
    run.checkpoint()
    (zombie,) = run.writers
    run.writers = []
    run.restart()
    run.write("b")
    zombie.write_run(["zombie"] * 100, None)
    zombie.flush(end_of_input=True)
    zombie.prepare_commit()
    run.write("c")
    run.finish()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nc\n"}
    assert names(tmp_path) == ["part-0-0"]


def test_a_restart_without_any_checkpoint_removes_what_was_written(tmp_path):
    other = FileSinkRun(rows(tmp_path).build())
    other.write("of another program")
    run = FileSinkRun(rows(tmp_path / "sub").build())
    run.write("a")
    run.restart()
    assert names(tmp_path) == [".part-0-0.inprogress"]
    other.finish()
    assert finished(tmp_path) == {"part-0-0": "of another program\n"}


def test_finished_files_of_an_earlier_run_are_never_replaced(tmp_path):
    for text in ("first", "second", "third"):
        run = FileSinkRun(rows(tmp_path).build())
        run.write(text)
        run.finish()
    assert finished(tmp_path) == {"part-0-0": "first\n", "part-0-1": "second\n", "part-0-2": "third\n"}


def test_an_old_checkpoint_whose_open_file_is_finished_is_refused(tmp_path):
    run = FileSinkRun(rows(tmp_path).build())
    run.write("a")
    old = run.checkpoint()
    run.checkpoint(end_of_input=True)
    with pytest.raises(StateRestoreError, match="restore from a later checkpoint"):
        run.restart(old)
    assert finished(tmp_path) == {"part-0-0": "a\n"}


@pytest.mark.parametrize(("before", "after"), [(3, 2), (3, 1), (2, 5)])
def test_open_files_survive_another_parallelism(tmp_path, before, after):
    run = FileSinkRun(rows(tmp_path).build(), parallelism=before)
    for subtask in range(before):
        run.write(f"kept {subtask}", subtask=subtask)
    run.checkpoint()
    for subtask in range(before):
        run.write("lost", subtask=subtask)
    run.restart(parallelism=after)
    for subtask in range(after):
        run.write(f"new {subtask}", subtask=subtask)
    run.restart()
    for subtask in range(after):
        run.write(f"again {subtask}", subtask=subtask)
    run.finish()
    lines = sorted(line for text in finished(tmp_path).values() for line in text.splitlines())
    assert lines == sorted(
        [*(f"kept {subtask}" for subtask in range(before)), *(f"again {subtask}" for subtask in range(after))]
    )
    assert not [name for name in names(tmp_path) if "inprogress" in name]


def test_buckets_of_the_programs_choice(tmp_path):
    class ByLetterAndDay(BucketAssigner[str]):
        def get_bucket_id(self, element: str, context: BucketContext) -> str:
            return (
                f"{element[0]}/{context.timestamp()}-{context.current_processing_time()}-{context.current_watermark()}"
            )

    run = FileSinkRun(rows(tmp_path).with_bucket_assigner(ByLetterAndDay()).build(), now=7)
    run.write("a1", "b1", "a2", timestamps=[5, 5, 5])
    run.finish()
    start = -(1 << 63)
    assert finished(tmp_path) == {f"a/5-7-{start}/part-0-0": "a1\na2\n", f"b/5-7-{start}/part-0-1": "b1\n"}


def test_bucket_ids_become_text(tmp_path):
    class ByNumber(BucketAssigner[int]):
        def get_bucket_id(self, element: int, context: BucketContext) -> int:
            return element % 2

    run = FileSinkRun(rows(tmp_path).with_bucket_assigner(ByNumber()).build())
    run.write(1, 2, 3)
    run.finish()
    assert finished(tmp_path) == {"0/part-0-1": "2\n", "1/part-0-0": "1\n3\n"}


@pytest.mark.parametrize("bucket", ["../elsewhere", "/elsewhere", "a/../../b"])
def test_buckets_stay_below_the_base_path(tmp_path, bucket):
    class Astray(BucketAssigner[str]):
        def get_bucket_id(self, element: str, context: BucketContext) -> str:
            return bucket

    run = FileSinkRun(rows(tmp_path / "base").with_bucket_assigner(Astray()).build())
    with pytest.raises(ProgramError, match="not below the base path"):
        run.write("a")


@pytest.mark.parametrize("name", ["part_size", "rollover_interval", "inactivity_interval"])
def test_limits_of_the_rolling_policy_are_positive(name):
    with pytest.raises(ProgramError, match=name):
        RollingPolicy.default_rolling_policy(**{name: 0})


def test_the_check_interval_is_positive(tmp_path):
    with pytest.raises(ProgramError, match="more than 0"):
        rows(tmp_path).with_bucket_check_interval(0)
