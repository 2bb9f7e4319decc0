"""Flink's options that nothing here can do: what is refused where it is set, and what is only told."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from penstock.errors import ProgramError

__all__ = ["FOREIGN_PREFIXES", "REFUSED_OPTIONS", "RefusedOption", "refuse"]


class RefusedOption(NamedTuple):
    """An option that would have to change what a job does, and cannot."""

    key: str
    reason: str
    fine: tuple[str, ...] = ()
    """Values, in lower case, that ask for what holds anyway."""


_PICKLE = "Values are pickled, whatever their type."
_MARKERS = (
    "There are no latency markers; Spark's page shows how long blocks wait, records carry timestamps of your own."
)
_MEMORY = "Spark gives workers no managed memory; set writebuffer.size, writebuffer.count and block.cache-size instead."
_REMOTE = "State is restored from the checkpoint storage only."
_CHANGELOG = (
    "There is no changelog of state; checkpoints of RocksDB can be incremental (execution.checkpointing.incremental)."
)
_OVER = "It tunes a way of restoring that RocksDB's state does not take here."

REFUSED_OPTIONS = {
    option.key: option
    for option in (
        RefusedOption(
            "pipeline.closure-cleaner-level",
            "There is no closure cleaner to turn off: a Python function takes along only the variables that it uses.",
            ("recursive", "top_level"),
        ),
        RefusedOption("pipeline.force-kryo", f"There is no Kryo here. {_PICKLE}", ("false",)),
        RefusedOption("pipeline.force-kryo-avro", f"There is no Kryo here. {_PICKLE}", ("false",)),
        RefusedOption("pipeline.force-avro", f"There is no Avro serialiser for records. {_PICKLE}", ("false",)),
        RefusedOption(
            "pipeline.generic-types", f"{_PICKLE} All types are generic ones, and all would be refused.", ("true",)
        ),
        RefusedOption("pipeline.serialization-config", f"There are no serialisers to register. {_PICKLE}"),
        RefusedOption("pipeline.registered-kryo-types", f"There is no Kryo here. {_PICKLE}"),
        RefusedOption("pipeline.registered-pojo-types", f"There are no POJO serialisers here. {_PICKLE}"),
        RefusedOption("pipeline.default-kryo-serializers", f"There is no Kryo here. {_PICKLE}"),
        RefusedOption("pipeline.cached-files", "There is no distributed cache; use env.add_python_file() or Spark's."),
        RefusedOption("pipeline.jars", "There is no Java side; use spark.jars for what Spark needs."),
        RefusedOption("pipeline.classpaths", "There is no Java side; use spark.jars for what Spark needs."),
        RefusedOption(
            "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
            "Steps are chained whatever their maximum parallelism is.",
            ("true",),
        ),
        RefusedOption(
            "pipeline.watermark-alignment.allow-unaligned-source-splits",
            "Splits are aligned wherever a source can pause them.",
            ("false",),
        ),
        RefusedOption("pipeline.jobvertex-parallelism-overrides", "Set the parallelism of the steps in the program."),
        RefusedOption("metrics.latency.interval", _MARKERS, ("0", "-1", "0 ms", "0 s")),
        RefusedOption("metrics.latency.granularity", _MARKERS),
        RefusedOption("metrics.latency.history-size", _MARKERS),
        RefusedOption(
            "execution.checkpointing.interval-during-backlog",
            "No source here says that it works off a backlog, so there is only execution.checkpointing.interval.",
        ),
        RefusedOption(
            "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file",
            "Each subtask stores its records in flight with its own state.",
        ),
        RefusedOption(
            "execution.checkpointing.unaligned.interruptible-timers.enabled",
            "Timers that are due fire together; a barrier comes before or after them.",
            ("false",),
        ),
        RefusedOption(
            "execution.checkpointing.write-buffer-size",
            "State goes to its file in pieces of megabytes; there is no buffer in between.",
        ),
        RefusedOption(
            "state.storage.fs.write-buffer-size",
            "State goes to its file in pieces of megabytes; there is no buffer in between.",
        ),
        RefusedOption("execution.checkpointing.file-merging.enabled", "Files of state are not merged.", ("false",)),
        RefusedOption("execution.checkpointing.create-subdir", "Each job has a directory of its own.", ("true",)),
        RefusedOption("execution.checkpointing.local-backup.enabled", _REMOTE, ("false",)),
        RefusedOption("execution.state-recovery.from-local", _REMOTE, ("false",)),
        RefusedOption("state.backend.local-recovery", _REMOTE, ("false",)),
        RefusedOption("state.changelog.enabled", _CHANGELOG, ("false",)),
        RefusedOption("state.backend.changelog.enabled", _CHANGELOG, ("false",)),
        RefusedOption("state.changelog.storage", _CHANGELOG),
        RefusedOption("state.backend.latency-track.keyed-state-enabled", "Access is not measured.", ("false",)),
        RefusedOption("state.backend.async", "Snapshots are always stored beside the running job.", ("true",)),
        RefusedOption("state.backend.rocksdb.memory.managed", _MEMORY, ("false",)),
        RefusedOption("state.backend.rocksdb.memory.fixed-per-slot", _MEMORY),
        RefusedOption("state.backend.rocksdb.memory.fixed-per-tm", _MEMORY),
        RefusedOption("state.backend.rocksdb.memory.write-buffer-ratio", _MEMORY),
        RefusedOption("state.backend.rocksdb.memory.high-prio-pool-ratio", _MEMORY),
        RefusedOption("state.backend.rocksdb.memory.partitioned-index-filters", _MEMORY, ("false",)),
        RefusedOption("state.backend.rocksdb.timer-service.factory", "Timers are kept in memory.", ("heap",)),
        RefusedOption("state.backend.rocksdb.timer-service.cache-size", "Timers are kept in memory."),
        RefusedOption("state.backend.rocksdb.write-batch-size", "Writes gather in batches of a fixed number."),
        RefusedOption(
            "state.backend.rocksdb.bloom-filter.block-based-mode",
            "RocksDB has no filters by block any more, only one per file.",
            ("false",),
        ),
        RefusedOption("state.backend.rocksdb.log.level", "The level of RocksDB's log cannot be set from Python."),
        RefusedOption(
            "state.backend.rocksdb.compaction.filter.query-time-after-num-entries",
            "Values that have outlived their time are removed without RocksDB's compaction.",
        ),
        RefusedOption(
            "state.backend.rocksdb.compaction.filter.periodic-compaction-time",
            "Values that have outlived their time are removed without RocksDB's compaction.",
        ),
        RefusedOption("state.backend.rocksdb.restore-overlap-fraction-threshold", _OVER),
        RefusedOption("state.backend.rocksdb.rescaling.use-delete-files-in-range", _OVER, ("false",)),
        RefusedOption("state.backend.rocksdb.use-ingest-db-restore-mode", _OVER, ("false",)),
        RefusedOption(
            "execution.sorted-inputs.enabled", "In batch, keyed input is always grouped by key.", ("true",),
        ),
        RefusedOption(
            "execution.batch-state-backend.enabled", "In batch, the state of one key at a time is in memory.",
            ("true",),
        ),
        RefusedOption(
            "execution.batch-shuffle-mode", "In batch, a stage begins when the one before has ended.",
            ("all_exchanges_blocking",),
        ),
        RefusedOption("execution.job-listeners", "Job listeners are Java classes, and there is no Java side."),
        RefusedOption("restart-strategy.cluster", "Write the strategy itself: restart-strategy.type."),
        RefusedOption("python.archives", "Archives are not sent to workers; use spark.archives."),
        RefusedOption("python.requirements", "Packages are not installed on workers; use an image or spark.archives."),
        RefusedOption("python.executable", "Workers run the Python that Spark starts: spark.pyspark.python."),
        RefusedOption("python.execution-mode", "Functions run in the worker itself, which is what thread mode means.",
                      ("thread",)),
    )
}  # fmt: skip
"""By their keys. They change results or costs that a program may rely on, so a job does not start without them."""

_CLUSTER = "it sets up Flink's own processes, and here Spark's are used: see the settings that begin with spark."
FOREIGN_PREFIXES = {
    "akka.": _CLUSTER,
    "blob.": _CLUSTER,
    "classloader.": _CLUSTER,
    "client.": _CLUSTER,
    "cluster.": _CLUSTER,
    "containerized.": _CLUSTER,
    "env.": _CLUSTER,
    "execution.attached": _CLUSTER,
    "execution.shutdown-on-attached-exit": _CLUSTER,
    "execution.target": _CLUSTER,
    "execution.batch.": "Spark schedules the tasks of batch jobs: see the settings that begin with spark.",
    "heartbeat.rpc-failure-threshold": _CLUSTER,
    "high-availability": _CLUSTER,
    "historyserver.": _CLUSTER,
    "io.tmp.dirs": _CLUSTER,
    "jmx.": _CLUSTER,
    "job-result-store.": _CLUSTER,
    "jobmanager.": _CLUSTER,
    "jobstore.": _CLUSTER,
    "kubernetes.": _CLUSTER,
    "metrics.": "there are no metric reporters: JobClient gives the metrics of a running job.",
    "pekko.": _CLUSTER,
    "pipeline.vertex-": "it only changes how Flink's web page shows a job.",
    "process.": _CLUSTER,
    "python.client.": "the program runs in the Python that started it.",
    "python.fn-execution.": "functions run in the worker itself, so nothing is bundled for another process.",
    "python.metric.": "functions run in the worker itself, so nothing is bundled for another process.",
    "python.profile.": "functions run in the worker itself; profile the worker.",
    "python.operator-chaining.": "Python functions are chained by pipeline.operator-chaining.enabled.",
    "python.pythonpath": "workers have the driver's module search path.",
    "query.": _CLUSTER,
    "queryable-state.": _CLUSTER,
    "rest.": _CLUSTER,
    "resourcemanager.": _CLUSTER,
    "security.": _CLUSTER,
    "slot.": _CLUSTER,
    "slotmanager.": _CLUSTER,
    "sql-client.": "there is no SQL here.",
    "sql-gateway.": "there is no SQL here.",
    "state.backend.rocksdb.metrics.": "metrics of RocksDB are not gathered.",
    "table.": "there is no Table API here.",
    "taskmanager.": _CLUSTER,
    "web.": _CLUSTER,
    "yarn.": _CLUSTER,
    "zookeeper.": _CLUSTER,
    "$internal.": _CLUSTER,
}
"""Beginnings of Flink's keys that do not apply, with the reason: a file made for Flink may hold them, so they are told,
not refused."""


def refuse(key: str) -> NoReturn:
    """Refuse a setting that cannot be had, with the reason.

    Raises:
        ProgramError: Always.
    """
    option = REFUSED_OPTIONS[key]
    instead = f" Leave it out, or set it to {' or '.join(option.fine[:2])}." if option.fine else " Leave it out."
    msg = f"The setting {key} cannot be had: {option.reason}{instead}"
    raise ProgramError(msg)
