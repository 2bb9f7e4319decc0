"""Small files become large ones before anybody sees them, and never both are visible."""

from __future__ import annotations

import pytest
from pyarrow import parquet

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner, BucketContext
from penstock.connectors.files.sink.bulk_writers.columns import ParquetBulkWriters
from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy, OutputStreamBasedFileCompactor
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.files.sink.sink import FileSink
from penstock.errors import ProgramError
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.serialization import Encoder
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun, finished, names


class ByLetter(BucketAssigner[str]):
    def get_bucket_id(self, element: str, context: BucketContext) -> str:
        return element[0]


def every(checkpoints: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(checkpoints).build()


def rows(base):
    return (
        FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    )


def test_files_wait_for_their_checkpoints(tmp_path):
    run = FileSinkRun(rows(tmp_path).enable_compact(every(3), FileCompactor.concat_file_compactor()).build())
    for text in ("a", "b"):
        run.write(text)
        run.checkpoint()
        assert finished(tmp_path) == {}
    run.write("c")
    run.checkpoint()
    assert names(tmp_path) == ["compacted-part-0-0"]
    assert finished(tmp_path) == {"compacted-part-0-0": "a\nb\nc\n"}


def test_files_wait_until_they_are_large_together(tmp_path):
    strategy = FileCompactStrategy.builder().set_size_threshold(5).build()
    run = FileSinkRun(rows(tmp_path).enable_compact(strategy, FileCompactor.concat_file_compactor(b"--\n")).build())
    run.write("a")
    run.checkpoint()
    run.write("b")
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.write("c")
    run.checkpoint()
    assert finished(tmp_path) == {"compacted-part-0-0": "a\n--\nb\n--\nc\n"}


def test_a_single_file_keeps_its_name(tmp_path):
    strategy = FileCompactStrategy.builder().set_size_threshold(2).build()
    run = FileSinkRun(rows(tmp_path).enable_compact(strategy, FileCompactor.concat_file_compactor()).build())
    run.write("large")
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "large\n"}


@pytest.mark.parametrize("threads", [1, 3])
def test_each_bucket_is_compacted_for_itself(tmp_path, threads):
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).set_num_compact_threads(threads).build()
    sink = rows(tmp_path).with_bucket_assigner(ByLetter())
    run = FileSinkRun(sink.enable_compact(strategy, FileCompactor.concat_file_compactor()).build())
    run.write("a1", "b1", "c1")
    run.checkpoint()
    run.write("a2", "b2", "c2")
    run.checkpoint()
    assert finished(tmp_path) == {
        "a/compacted-part-0-0": "a1\na2\n",
        "b/compacted-part-0-1": "b1\nb2\n",
        "c/compacted-part-0-2": "c1\nc2\n",
    }


def test_what_still_waits_at_the_end_is_compacted(tmp_path):
    run = FileSinkRun(rows(tmp_path).enable_compact(every(100), FileCompactor.concat_file_compactor()).build())
    run.write("a")
    run.checkpoint()
    run.write("b")
    run.finish()
    assert names(tmp_path) == ["compacted-part-0-0"]
    assert finished(tmp_path) == {"compacted-part-0-0": "a\nb\n"}


def test_identical_files_only_become_visible_later(tmp_path):
    run = FileSinkRun(rows(tmp_path).enable_compact(every(2), FileCompactor.identical_file_compactor()).build())
    run.write("a")
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.write("b")
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\n", "part-0-1": "b\n"}


def test_waiting_files_survive_a_crash_before_the_commit(tmp_path):
    run = FileSinkRun(rows(tmp_path).enable_compact(every(2), FileCompactor.concat_file_compactor()).build())
    run.write("a")
    first = run.checkpoint()
    run.write("b")
    run.snapshot()  # compacts; the checkpoint is not completed
    run.restart(first)
    assert names(tmp_path) == [".part-0-0.inprogress"]
    run.write("b")
    run.snapshot()  # completed, and the crash comes before the commit
    run.restart()
    assert finished(tmp_path) == {"compacted-part-0-0": "a\nb\n"}
    assert names(tmp_path) == ["compacted-part-0-0"]


def test_waiting_files_are_finished_as_they_are_when_compaction_is_switched_off(tmp_path):
    builder = rows(tmp_path).enable_compact(every(9), FileCompactor.concat_file_compactor())
    run = FileSinkRun(builder.build())
    run.write("a")
    run.checkpoint()
    run.sink = builder.disable_compact().build()
    run.restart()
    run.write("b")
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\n", "part-0-1": "b\n"}


def test_parquet_files_are_compacted_record_by_record(tmp_path):
    factory = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()]))
    builder = FileSink.for_bulk_format(str(tmp_path), factory)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    with pytest.raises(ProgramError, match="record_wise_file_compactor"):
        builder.enable_compact(every(2), FileCompactor.concat_file_compactor())
    run = FileSinkRun(builder.enable_compact(every(2), FileCompactor.record_wise_file_compactor()).build())
    run.write(("a", 1))
    run.checkpoint()
    run.write(("b", 2))
    run.finish()
    assert names(tmp_path) == ["compacted-part-0-0"]
    assert parquet.read_table(tmp_path / "compacted-part-0-0").to_pydict() == {"word": ["a", "b"], "n": [1, 2]}


def test_records_of_row_formats_are_read_as_the_program_says(tmp_path):
    with pytest.raises(ProgramError, match="read back"):
        rows(tmp_path).enable_compact(every(2), FileCompactor.record_wise_file_compactor())

    def lines(stream):
        return [line.decode().rstrip("\n") for line in stream]

    run = FileSinkRun(rows(tmp_path).enable_compact(every(2), FileCompactor.record_wise_file_compactor(lines)).build())
    run.write("a")
    run.checkpoint()
    run.write("b")
    run.finish()
    assert finished(tmp_path) == {"compacted-part-0-0": "a\nb\n"}


def test_own_compactors(tmp_path):
    class Sorted(OutputStreamBasedFileCompactor):
        def compact(self, inputs, output) -> None:
            output.write(b"".join(sorted(line for each in inputs for line in each)))

    run = FileSinkRun(rows(tmp_path).enable_compact(every(2), Sorted()).build())
    run.write("b")
    run.checkpoint()
    run.write("a")
    run.finish()
    assert finished(tmp_path) == {"compacted-part-0-0": "a\nb\n"}


def test_a_strategy_says_when():
    with pytest.raises(ProgramError, match="set_size_threshold"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ProgramError, match="more than 0"):
        FileCompactStrategy.builder().set_size_threshold(0)
