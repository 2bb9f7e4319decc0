"""Files -> keyed count -> several exactly-once sinks at once, and what must be seen in each of them.

Every record leads to one result, ``key count``, so each result must be seen exactly once wherever it goes. Workers
import this module by its name.
"""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock import (
    DeliveryGuarantee,
    Encoder,
    FileSink,
    FileSource,
    KafkaRecordSerializationSchema,
    KafkaSink,
    RollingPolicy,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    StreamFormat,
    TwoPhaseCommitSinkFunction,
    WatermarkStrategy,
)
from penstock.connectors.files.sink.committer import PartCommitter
from penstock.connectors.kafka.committer import KafkaCommitter
from penstock.connectors.mysql import MySqlSink
from penstock.connectors.mysql.xa_committer import XaCommitter
from penstock.connectors.write_ahead import _BatchCommitter
from penstock.runtime.sinks.writing import SinkOperator
from tests.chaos.faults import WORKER_POINTS, FaultPlan, install
from tests.chaos.noted_rows import NotedRows
from tests.chaos.paced import Paced
from tests.spark.kafka_jobs import Count

__all__ = ["SINK_POINTS", "Targets", "Work", "build", "expected"]

KEYS = 7

SINK_POINTS = {
    "before phase one": (SinkOperator, "_prepare", "before"),
    "after phase one": (SinkOperator, "_prepare", "after"),
    "before the sink's snapshot": (SinkOperator, "snapshot", "before"),
    "before phase two": (SinkOperator, "notify_complete", "before"),
    "after phase two": (SinkOperator, "notify_complete", "after"),
    "before files are moved": (PartCommitter, "_move_all", "before"),
    "after files are moved": (PartCommitter, "_move_all", "after"),
    "before a branch is committed": (XaCommitter, "commit_branch", "before"),
    "after a branch is committed": (XaCommitter, "commit_branch", "after"),
    "before a batch is sent": (_BatchCommitter, "_is_sent", "before"),
    "after a batch is sent": (_BatchCommitter, "_is_sent", "after"),
    "before Kafka commits": (KafkaCommitter, "_commit", "before"),
    "after Kafka commits": (KafkaCommitter, "_commit", "after"),
    "before the sink opens": (SinkOperator, "open", "before"),
    "after the sink opened": (SinkOperator, "open", "after"),
}


@dataclass(frozen=True)
class Targets:
    """Where results go; what is not given is left out."""

    files: str | None = None
    moved: str | None = None
    noted: str | None = None
    database: str | None = None
    broker: str | None = None
    topic: str | None = None


@dataclass(frozen=True)
class Work:
    """What there is to do."""

    place: str
    """The directory of the input, the fault plan and whatever else belongs to a run."""
    files: int = 4
    lines: int = 1000
    """Of each file."""
    per_second: int = 1000
    """Of each subtask."""
    targets: Targets = field(default_factory=Targets)

    @staticmethod
    def of(plain: dict[str, Any]) -> Work:
        """Returns what ``plain`` returned elsewhere."""
        return Work(**{**plain, "targets": Targets(**plain["targets"])})

    def plain(self) -> dict[str, Any]:
        """Returns it as JSON has it."""
        return asdict(self)

    @property
    def input(self) -> Path:
        return Path(self.place) / "input"

    def write_input(self) -> None:
        """Writes the input files."""
        self.input.mkdir(parents=True)
        for number in range(self.files):
            lines = [f"{(number + line * 31) % KEYS} {number}-{line}\n" for line in range(self.lines)]
            (self.input / f"{number}.txt").write_text("".join(lines), encoding="utf-8")


def expected(work: Work) -> Counter[str]:
    """Every result once: per key, the counts from 1 up to the number of its lines."""
    counts: Counter[int] = Counter()
    for number in range(work.files):
        counts.update((number + line * 31) % KEYS for line in range(work.lines))
    return Counter(f"{key} {count}" for key, total in counts.items() for count in range(1, total + 1))


class ArmedAndPaced(Paced):
    """Passes so many records per second; makes the process it comes to suffer planned faults."""

    def __init__(self, plan: FaultPlan, per_second: int) -> None:
        super().__init__(per_second)
        self.plan = plan

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        install(self.plan, {**WORKER_POINTS, **SINK_POINTS})


class MovedFiles(TwoPhaseCommitSinkFunction):
    """The program's own two-phase sink: hidden files that get their name when their checkpoint is complete."""

    def __init__(self, directory: str) -> None:
        super().__init__()
        self.directory = Path(directory)

    def open(self, runtime_context: Any) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self.directory.mkdir(parents=True, exist_ok=True)
        self.lines: list[str] = []
        self.is_first = True

    def begin_transaction(self) -> str:
        if self.is_first:
            # What the restored checkpoint knows is committed by now: the rest was left behind by those who were killed.
            for left in self.directory.glob(f".{self.index}-*"):
                left.unlink(missing_ok=True)
            self.is_first = False
        self.lines = []
        return f"{self.index}-{uuid.uuid4().hex}"

    def invoke(self, transaction: str, value: str, context: Any) -> None:
        self.lines.append(f"{value}\n")

    def pre_commit(self, transaction: str) -> None:
        if self.lines:
            (self.directory / f".{transaction}").write_text("".join(self.lines), encoding="utf-8")

    def commit(self, transaction: str) -> None:
        hidden = self.directory / f".{transaction}"
        if hidden.exists():
            hidden.rename(self.directory / transaction)

    def abort(self, transaction: str) -> None:
        (self.directory / f".{transaction}").unlink(missing_ok=True)


def build(env: StreamExecutionEnvironment, work: Work, plan: FaultPlan) -> None:
    """Puts the job into an environment."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(work.input))
    lines = env.from_source(source.process_static_file_set().build(), WatermarkStrategy.no_watermarks(), "lines")
    paced = lines.uid("lines").map(ArmedAndPaced(plan, work.per_second)).uid("paced")
    counts = paced.key_by(lambda line: line.split(" ")[0]).process(Count()).uid("counts")
    targets = work.targets
    if targets.files is not None:
        files = FileSink.for_row_format(targets.files, Encoder.simple_string_encoder())
        # Small parts: several in one checkpoint period, and one that goes on over the next checkpoints.
        policy = RollingPolicy.default_rolling_policy(part_size=1500, rollover_interval=2000, inactivity_interval=2000)
        counts.sink_to(files.with_rolling_policy(policy).build()).uid("files")
    if targets.moved is not None:
        counts.add_sink(MovedFiles(targets.moved)).uid("moved")
    if targets.noted is not None:
        counts.add_sink(NotedRows(targets.noted)).uid("noted")
    if targets.database is not None:
        table = MySqlSink.builder().set_url(targets.database).set_table("results", "result")
        exactly = table.set_statement_builder(lambda result: (result,))
        counts.sink_to(exactly.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()).uid("table")
    if targets.broker is not None:
        schema = KafkaRecordSerializationSchema.builder().set_topic(str(targets.topic))
        schema = schema.set_value_serialization_schema(SimpleStringSchema()).build()
        sink = KafkaSink.builder().set_bootstrap_servers(targets.broker).set_record_serializer(schema)
        sink = sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        counts.sink_to(sink.set_transactional_id_prefix(f"chaos-{targets.topic}").build()).uid("topic")
