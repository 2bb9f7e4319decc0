"""Sources on Spark: files over several subtasks with a failure in the middle, new files, generators, DataFrames."""

from __future__ import annotations

import datetime
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock import (
    CheckpointedFunction,
    CsvFormat,
    DataGeneratorSource,
    Duration,
    FileEnumerator,
    FileSource,
    GoodsOffers,
    JobStatus,
    JsonLinesFormat,
    ListStateDescriptor,
    MalformedRecordError,
    OutputTag,
    ProgramError,
    RandomOrders,
    RestartStrategies,
    RichParallelSourceFunction,
    Row,
    StreamExecutionEnvironment,
    StreamFormat,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from penstock.execution.spark.driver import stored_data_frame
from penstock.execution.spark.driver.session import find_session
from tests.chaos.lifecycle import Diary
from tests.spark.jobs import collect, wait_until

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


class FailOnce:
    """Goes slowly until there is a checkpoint, and then fails, once."""

    def __init__(self, diary: Diary, checkpoints: Path, after: int) -> None:
        self.diary = diary
        self.checkpoints = checkpoints
        self.after = after
        self.seen = 0

    def __call__(self, line: str) -> str:
        self.seen += 1
        if not self.diary.lines("failed"):
            # Slow from the first record on: a source that has become fast reads thousands before a checkpoint can come.
            time.sleep(0.001)
            if self.seen > self.after and any(self.checkpoints.rglob("_metadata")):
                self.diary.fail("in the middle")
        return line


def line_source(path: Path, **settings: Any) -> FileSource[str]:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path))
    for name, value in settings.items():
        builder = getattr(builder, name)(value)
    return builder.build()


def checkpointed(env: StreamExecutionEnvironment, place: Path) -> tuple[Diary, Path]:
    """Lets a job take checkpoints and survive a failure."""
    checkpoints = place / "checkpoints"
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoints))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    return Diary(place / "diary"), checkpoints


def final_counts(counts: Any) -> dict[Any, int]:
    """The highest count of each key: after a restart some counts are collected again."""
    highest: dict[Any, int] = {}
    for key, count in collect(counts):
        highest[key] = max(count, highest.get(key, 0))
    return highest


def test_src_15_a_file_is_counted_exactly_once_across_a_restart(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    words = [f"word-{number % 7}" for number in range(60_000)]
    (tmp_path / "words.txt").write_text("\n".join(words))
    diary, checkpoints = checkpointed(env, tmp_path)
    source = line_source(tmp_path / "words.txt", set_file_enumerator=FileEnumerator(smallest_range=1000))
    lines = env.from_source(source, NO_WATERMARKS, "words").map(FailOnce(diary, checkpoints, 2000))
    counts = lines.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    assert final_counts(counts) == Counter(words)
    assert diary.lines("failed")


def test_files_of_a_directory_go_on_where_they_were(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for file in range(6):
        (data / f"{file}.csv").write_text("id,text\n" + "".join(f'{n},"{file}\n{n % 5}"\n' for n in range(3000)))
    diary, checkpoints = checkpointed(env, tmp_path)
    records = env.read_file(CsvFormat({"id": int, "text": str}, record_type=tuple), str(data))
    counts = records.map(FailOnce(diary, checkpoints, 500)).map(lambda r: (r[1], 1)).key_by(lambda pair: pair[0]).sum(1)
    assert final_counts(counts) == {f"{file}\n{rest}": 600 for file in range(6) for rest in range(5)}
    assert diary.lines("failed")


def test_src_03_every_window_fires_at_the_end_of_the_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(0, 100, 2)))
    (tmp_path / "b").write_text("".join(f"{number}\n" for number in range(1, 100, 2)))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda line, _: int(line))
    lines = env.from_source(line_source(tmp_path), strategy, "numbers")
    windows = lines.map(lambda _: 1).window_all(TumblingEventTimeWindows.of(Time.milliseconds(30)))
    assert collect(windows.reduce(lambda one, other: one + other)) == [30, 30, 30, 10]


def test_a_file_that_is_added_while_the_job_runs_is_read(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n")
    source = line_source(
        tmp_path,
        monitor_continuously=Duration.of_millis(200),
        with_settling_time=Duration.of_millis(100),
    )
    found: list[str] = []
    records: Any = env.from_source(source, NO_WATERMARKS, "files").execute_and_collect()
    with records:
        for line in records:
            found.append(line)
            if line == "first":
                (tmp_path / ".b.txt.new").write_text("second\nthird\n")
                (tmp_path / ".b.txt.new").rename(tmp_path / "b.txt")
            if line == "third":
                break
    assert found == ["first", "second", "third"]


def test_malformed_records_are_shown_with_their_place(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\nnonsense\n')
    env.read_file(JsonLinesFormat(), str(tmp_path)).print()
    with pytest.raises(MalformedRecordError, match=r"line 2, byte 10(.|\n)*nonsense"):
        env.execute()


def test_malformed_records_in_a_side_output(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\nnonsense\n{"id": 2}\n')
    bad = OutputTag("bad")
    builder = FileSource.for_record_stream_format(JsonLinesFormat(), str(tmp_path)).with_malformed_records_to(bad)
    records = env.from_source(builder.build(), NO_WATERMARKS, "files")
    both = records.map(lambda record: record["id"]).union(records.get_side_output(bad).map(lambda each: each.content))
    assert sorted(map(str, collect(both))) == ["1", "2", "nonsense"]


def test_a_missing_path_is_refused(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.read_text_file(str(tmp_path / "nothing" / "*.txt")).print()
    with pytest.raises(ProgramError, match="There is no"):
        env.execute()


def test_generated_orders_meet_generated_goods(env: StreamExecutionEnvironment) -> None:
    def timed(index: int) -> WatermarkStrategy:
        return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda each, _: each[index])

    goods = env.from_source(DataGeneratorSource(GoodsOffers(), 60), timed(3), "goods")
    orders = env.from_source(DataGeneratorSource(RandomOrders(seed=3), 20), timed(3), "orders")
    joined = (
        goods.join(orders)
        .where(lambda offer: offer.goods_id)
        .equal_to(lambda order: order.goods_id)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .apply(lambda offer, order: (order.item_id, order.pieces * offer.price))
    )
    sold = collect(joined)
    # Each known order meets its goods once per second of its window.
    assert Counter(item for item, _ in sold) == {f"item-{number}": 5 for number in range(0, 20, 2)}


def test_src_04_lines_of_a_socket(env: StreamExecutionEnvironment) -> None:
    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"to be\nor not to be\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        lines = env.socket_text_stream("127.0.0.1", listening.getsockname()[1])
        counts = lines.flat_map(str.split).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
        assert final_counts(counts) == {"to": 2, "be": 2, "or": 1, "not": 1}
        thread.join()


def test_a_job_that_waits_for_a_socket_can_be_cancelled(env: StreamExecutionEnvironment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        env.socket_text_stream("127.0.0.1", listening.getsockname()[1]).print()
        client = env.execute_async()
        connection, _ = listening.accept()
        with connection:
            client.cancel().result()
            wait_until(lambda: client.get_job_status().result() is JobStatus.CANCELED, "the job ends")


class Numbers(RichParallelSourceFunction, CheckpointedFunction):
    """Each subtask emits its share of the numbers; what is left of them is operator state."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("left"))
        self.left = list(self.state.get())

    def open(self, runtime_context: Any) -> None:
        index, parallelism = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
        )
        if not self.left:
            self.left = [(index, parallelism)]

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.left)

    def run(self, ctx: Any) -> None:
        self.is_running = True
        ((number, stride),) = self.left
        while self.is_running and number < 20_000:
            with ctx.get_checkpoint_lock():
                ctx.collect(number)
                number += stride
                self.left = [(number, stride)]

    def cancel(self) -> None:
        self.is_running = False


def test_src_10_a_parallel_source_function_keeps_its_position(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    diary, checkpoints = checkpointed(env, tmp_path)
    numbers = env.add_source(Numbers(), "numbers").uid("numbers").map(FailOnce(diary, checkpoints, 1000))
    counts = numbers.map(lambda number: (number % 3, 1)).key_by(lambda pair: pair[0]).sum(1)
    assert final_counts(counts) == {0: 6667, 1: 6667, 2: 6666}
    assert diary.lines("failed")


@pytest.fixture
def spark(env: StreamExecutionEnvironment) -> SparkSession:
    return find_session(None, {}, 8)


def test_the_rows_of_a_data_frame(env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    frame = spark.createDataFrame(
        [(1, "a", moment, {"x": 1}), (2, None, moment, {})], "id long, name string, at timestamp, tags map<string, int>"
    )
    rows = collect(env.from_data_frame(frame, directory=str(tmp_path)))
    assert sorted(rows, key=lambda row: row.id) == [
        Row(id=1, name="a", at=moment, tags={"x": 1}),
        Row(id=2, name=None, at=moment, tags={}),
    ]


@pytest.mark.parametrize(("record_type", "expected"), [(dict, {"id": 3}), (tuple, (3,))])
def test_other_shapes_of_rows(
    env: StreamExecutionEnvironment, spark: SparkSession, record_type: Any, expected: Any
) -> None:
    assert expected in collect(env.from_data_frame(spark.range(5), record_type))


def test_a_data_frame_is_read_again_after_a_failure_and_its_files_go(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path
) -> None:
    diary, checkpoints = checkpointed(env, tmp_path)
    place = tmp_path / "frames"
    frame = spark.range(0, 40_000, 1, 4)
    rows = env.from_data_frame(frame, tuple, directory=str(place)).map(FailOnce(diary, checkpoints, 2000))
    counts = rows.map(lambda row: (row[0] % 3, 1)).key_by(lambda pair: pair[0]).sum(1)
    assert final_counts(counts) == {0: 13_334, 1: 13_333, 2: 13_333}
    assert diary.lines("failed")
    assert any(place.iterdir())
    del rows, counts
    env.graph.nodes.clear()
    import gc

    gc.collect()
    assert not any(place.iterdir())


def test_what_is_no_batch_data_frame_is_refused(env: StreamExecutionEnvironment, spark: SparkSession) -> None:
    with pytest.raises(ProgramError, match="needs a Spark DataFrame"):
        env.from_data_frame([1, 2])
    with pytest.raises(ProgramError, match="batch DataFrame"):
        env.from_data_frame(spark.readStream.format("rate").load())


def test_a_cluster_needs_a_directory_that_all_executors_reach() -> None:
    context = SimpleNamespace(master="spark://host:7077")
    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    with pytest.raises(ProgramError, match=r"spark://host:7077(.|\n)*directory="):
        stored_data_frame._temporary_directory(frame, keep_files=False)
