"""All options that a configuration can hold: key, kind of value, default and meaning.

The page of options in the documentation is made from this table, and a test finds the place that reads each of them.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.vocabulary.state.rocksdb_options import ROCKSDB, ROCKSDB_OPTIONS

__all__ = ["KNOWN_OPTIONS", "KNOWN_PREFIXES", "KnownOption"]


class KnownOption(NamedTuple):
    """An option that does something."""

    key: str
    kind: str
    usual: str
    """What holds if nothing is said."""
    meaning: str
    older: tuple[str, ...] = ()
    """Other keys for the same, which Flink had before."""


_CHECKPOINTING = "execution.checkpointing."
_EXPONENTIAL = "restart-strategy.exponential-delay."
_KINDS = {"integer": "integer", "size": "memory size", "number": "number", "flag": "true or false", "text": "text"}

_PIPELINE = (
    KnownOption("parallelism.default", "integer", "the number of cores", "The parallelism of steps that set none."),
    KnownOption("pipeline.name", "text", "Flink Streaming Job", "The name of a job that `execute()` gives none."),
    KnownOption(
        "pipeline.max-parallelism", "integer", "by the parallelism, at least 128",
        "The number of key groups, the most subtasks a step can ever be rescaled to.",
    ),
    KnownOption(
        "pipeline.auto-watermark-interval", "duration", "200 ms",
        "How often generators of periodic watermarks are asked; 0 is never.",
    ),
    KnownOption(
        "pipeline.operator-chaining.enabled", "true or false", "true",
        "Whether neighbouring steps run in one call stack.", ("pipeline.operator-chaining",),
    ),
    KnownOption("pipeline.object-reuse", "true or false", "false", "Whether records are handed over without copies."),
    KnownOption(
        "pipeline.auto-generate-uids", "true or false", "true",
        "Whether a step needs no uid; `false` refuses jobs in which one has none.",
    ),
    KnownOption(
        "pipeline.global-job-parameters", "key:value, key:value", "none",
        "Parameters of your own, which functions read from their runtime context.",
    ),
    KnownOption(
        "execution.runtime-mode", "STREAMING, BATCH or AUTOMATIC", "STREAMING",
        "Whether a job streams or runs stage by stage over bounded input; AUTOMATIC looks at the sources.",
    ),
    KnownOption(
        "execution.sorted-inputs.memory", "memory size", "128 mb",
        "In batch, how much memory the records that a subtask groups by key may take before they are sorted in files.",
    ),
    KnownOption(
        "execution.buffer-timeout.interval", "duration", "20 ms",
        "How long a record may wait for its block while its subtask is busy; 0 sends at once.",
        ("execution.buffer-timeout",),
    ),
    KnownOption(
        "execution.buffer-timeout.enabled", "true or false", "true", "`false` sends blocks only when they are full.",
    ),
    KnownOption("python.files", "paths, by commas", "none", "Modules, packages or zips that are sent to the workers."),
    KnownOption(
        "heartbeat.interval", "duration", "10 s", "How often driver and workers say to each other that they run.",
    ),
    KnownOption(
        "heartbeat.timeout", "duration", "50 s",
        "Who has not been heard of for this long is taken for dead: the job restarts, and what was stopped is ended.",
    ),
    KnownOption(
        "task.cancellation.interval", "duration", "30 s",
        "The time between two interrupts of a cancelled subtask that does not end.",
    ),
    KnownOption(
        "task.cancellation.timeout", "duration", "30 s",
        "After this time a cancelled subtask that has not ended is ended with its process; 0 is never.",
    ),
)  # fmt: skip

_CHECKPOINTS = (
    KnownOption(_CHECKPOINTING + "interval", "duration", "no checkpoints", "From the start of one to the next."),
    KnownOption(_CHECKPOINTING + "mode", "EXACTLY_ONCE or AT_LEAST_ONCE", "EXACTLY_ONCE", "Whether channels wait."),
    KnownOption(_CHECKPOINTING + "timeout", "duration", "10 min", "After it, a checkpoint is given up."),
    KnownOption(_CHECKPOINTING + "min-pause", "duration", "0 ms", "From the end of a checkpoint to the next one."),
    KnownOption(_CHECKPOINTING + "max-concurrent-checkpoints", "integer", "1", "How many are under way at a time."),
    KnownOption(_CHECKPOINTING + "tolerable-failed-checkpoints", "integer", "0", "How many may fail in a row."),
    KnownOption(
        _CHECKPOINTING + "externalized-checkpoint-retention",
        "DELETE_ON_CANCELLATION, RETAIN_ON_CANCELLATION or NO_EXTERNALIZED_CHECKPOINTS", "NO_EXTERNALIZED_CHECKPOINTS",
        "What becomes of checkpoints when the job ends.", (_CHECKPOINTING + "externalized-checkpoint-retention-mode",),
    ),
    KnownOption(
        _CHECKPOINTING + "num-retained", "integer", "1", "How many complete checkpoints are kept.",
        ("state.checkpoints.num-retained",),
    ),
    KnownOption(
        _CHECKPOINTING + "unaligned.enabled", "true or false", "false", "Whether barriers overtake records.",
        (_CHECKPOINTING + "unaligned",),
    ),
    KnownOption(
        _CHECKPOINTING + "unaligned.forced", "true or false", "false",
        "Whether jobs with `partition_custom` may have unaligned checkpoints, too; they are refused otherwise.",
    ),
    KnownOption(
        _CHECKPOINTING + "aligned-checkpoint-timeout", "duration", "0 ms",
        "How long an unaligned checkpoint tries to be an aligned one.",
    ),
    KnownOption(
        _CHECKPOINTING + "checkpoints-after-tasks-finish.enabled", "true or false", "true",
        "Whether checkpoints are taken when some subtasks have processed all their input. If not, a bounded job ends"
        " without a last one, and sinks leave uncommitted what they got since the one before.",
        (_CHECKPOINTING + "checkpoints-after-tasks-finish",),
    ),
    KnownOption(
        _CHECKPOINTING + "snapshot-compression", "true or false", "false",
        "Whether savepoints and checkpoints of the heap are compressed.",
    ),
    KnownOption(
        _CHECKPOINTING + "storage", "jobmanager or filesystem", "filesystem with a directory, else jobmanager",
        "Whether checkpoints are kept in the driver's memory or as files.", ("state.checkpoint-storage",),
    ),
    KnownOption(_CHECKPOINTING + "dir", "URI", "none", "The directory of checkpoints.", ("state.checkpoints.dir",)),
    KnownOption(
        _CHECKPOINTING + "savepoint-dir", "URI", "none", "The directory of savepoints.", ("state.savepoints.dir",),
    ),
    KnownOption(
        _CHECKPOINTING + "data-inline-threshold", "memory size", "20 kb",
        "Smaller state goes into the metadata instead of a file of its own.", ("state.storage.fs.memory-threshold",),
    ),
    KnownOption(
        _CHECKPOINTING + "incremental", "true or false", "false",
        "Whether checkpoints of RocksDB store only the files that are new.", ("state.backend.incremental",),
    ),
    KnownOption(
        "execution.state-recovery.path", "path", "none", "The checkpoint or savepoint that the job starts from.",
        ("execution.savepoint.path",),
    ),
    KnownOption(
        "execution.state-recovery.ignore-unclaimed-state", "true or false", "false",
        "Whether state of steps that the program does not have any more is left behind.",
        ("execution.savepoint.ignore-unclaimed-state",),
    ),
    KnownOption(
        "execution.state-recovery.claim-mode", "NO_CLAIM, CLAIM or LEGACY", "NO_CLAIM",
        "Whether the job owns what it starts from, and deletes it when newer checkpoints replace it.",
        ("execution.savepoint-restore-mode",),
    ),
)  # fmt: skip

_RESTARTS = (
    KnownOption(
        "restart-strategy.type", "none, fixed-delay, failure-rate or exponential-delay",
        "exponential-delay with checkpoints, else none", "What happens when the job fails.", ("restart-strategy",),
    ),
    KnownOption("restart-strategy.fixed-delay.attempts", "integer", "1", "How often the job is restarted."),
    KnownOption("restart-strategy.fixed-delay.delay", "duration", "1 s", "The pause before a restart."),
    KnownOption(
        "restart-strategy.failure-rate.max-failures-per-interval", "integer", "1", "How many failures are allowed.",
    ),
    KnownOption("restart-strategy.failure-rate.failure-rate-interval", "duration", "1 min", "Where they are counted."),
    KnownOption("restart-strategy.failure-rate.delay", "duration", "1 s", "The pause before a restart."),
    KnownOption(_EXPONENTIAL + "initial-backoff", "duration", "1 s", "The first pause."),
    KnownOption(_EXPONENTIAL + "max-backoff", "duration", "1 min", "The longest pause."),
    KnownOption(_EXPONENTIAL + "backoff-multiplier", "number", "1.5", "What a failure multiplies the pause with."),
    KnownOption(
        _EXPONENTIAL + "reset-backoff-threshold", "duration", "1 h", "So long a run makes the pause short again.",
    ),
    KnownOption(_EXPONENTIAL + "jitter-factor", "number", "0.1", "The part of a pause that is left to chance."),
    KnownOption(
        _EXPONENTIAL + "attempts-before-reset-backoff", "integer", "no limit",
        "How many restarts there may be before such a run; the next failure ends the job.",
    ),
)  # fmt: skip

_STATE = (
    KnownOption(
        "state.backend.type", "hashmap or rocksdb", "hashmap", "Where keyed state is held.", ("state.backend",),
    ),
    KnownOption(ROCKSDB + "localdir", "paths, by commas", "for temporary files", "The directories of databases."),
    KnownOption(
        ROCKSDB + "checkpoint.transfer.thread.num", "integer", "4", "How many threads copy files of a checkpoint.",
    ),
    KnownOption(
        ROCKSDB + "predefined-options",
        "DEFAULT, SPINNING_DISK_OPTIMIZED, SPINNING_DISK_OPTIMIZED_HIGH_MEM or FLASH_SSD_OPTIMIZED", "DEFAULT",
        "A set of settings; what is set by name wins over it.",
    ),
    KnownOption(
        ROCKSDB + "options-factory", "module.function", "none",
        "A Python function that is given a `rocksdict.Options` to change; it has the last word.",
    ),
    *(
        KnownOption(
            ROCKSDB + option.name,
            ("by semicolons: " if option.kind == "list" else "") + (
                ", ".join(option.choices) if option.choices else _KINDS[option.kind]
            ),
            option.usual,
            option.meaning,
        )
        for option in ROCKSDB_OPTIONS
    ),
)  # fmt: skip

_OWN = (
    KnownOption(
        "penstock.guarantee", "exactly-once, at-least-once or at-most-once", "none",
        "The least that a job must guarantee end to end; one that guarantees less is refused.",
    ),
    KnownOption(
        "penstock.max-record-size", "memory size", "512 mb",
        "The most bytes of a record that is sent to another step; a larger one fails the job and is named.",
    ),
    KnownOption(
        "penstock.renamed-classes", "old:new, old:new", "none",
        "New names of classes, or modules, of objects in the checkpoint or savepoint that the job starts from.",
    ),
    KnownOption(
        "penstock.no-output-report-interval", "duration", "1 min",
        "How long event time may stand still before the log says why; 0 is off.",
    ),
)  # fmt: skip

_OPERATIONS = (
    KnownOption(
        "rest.port", "integer", "8081", "The port at which the driver answers, or the next free one; 0 is any.",
    ),
    KnownOption(
        "rest.bind-port", "ports and ranges, by commas", "by `rest.port`", "The ports that the driver may answer at.",
    ),
    KnownOption(
        "rest.bind-address", "text", "localhost",
        "The address at which the driver answers; `0.0.0.0` lets other machines ask.",
    ),
    KnownOption(
        "rest.address", "text", "by `rest.bind-address`", "The name under which others reach the driver.",
    ),
    KnownOption(
        "penstock.rest.enabled", "true or false", "true", "Whether the driver answers commands and REST requests.",
    ),
    KnownOption("penstock.rest.certificate", "path", "none", "The certificate (PEM) with which the driver uses TLS."),
    KnownOption("penstock.rest.key", "path", "none", "The private key (PEM) of that certificate."),
    KnownOption(
        "penstock.rest.savepoint-directories", "paths, by semicolons", "none",
        "Where savepoints may be put and removed on request, besides the job's own directories.",
    ),
    KnownOption(
        "penstock.registry.dir", "path", "of the user, in `$XDG_STATE_HOME`",
        "The directory in which jobs are found by commands; any file system that checkpoints may be on.",
    ),
    KnownOption(
        "penstock.registry.retention", "duration", "1 d", "How long jobs that ended or were lost are listed.",
    ),
    KnownOption("web.checkpoints.history", "integer", "10", "How many checkpoints the driver remembers."),
    KnownOption("web.exception-history-size", "integer", "16", "How many failures the driver remembers."),
    KnownOption("web.refresh-interval", "duration", "3 s", "How often pages should ask the driver."),
)  # fmt: skip

KNOWN_OPTIONS = {option.key: option for option in (*_PIPELINE, *_CHECKPOINTS, *_RESTARTS, *_STATE, *_OWN, *_OPERATIONS)}
"""By their keys, in the order of the documentation."""

KNOWN_PREFIXES = {
    "spark.": "Settings of Spark, for a session that the job starts.",
    "pipeline.global-job-parameters.": "One parameter of your own, as the keys of a map in a file.",
}
"""Beginnings of keys that can end in any way."""
