"""Every option of a configuration is read, changes the job it is given to, and stands in the documentation."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, ProgramError, StreamExecutionEnvironment
from penstock.execution.spark.control.heartbeats import INTERVAL_OPTION, TIMEOUT_OPTION, HeartbeatSettings
from penstock.operations.settings import OPTIONS as OPERATIONS_OPTIONS
from penstock.runtime.diagnostics.no_output_watch import NO_OUTPUT_REPORT_INTERVAL, NoOutputWatch
from penstock.runtime.exchange.record_size import MAX_RECORD_SIZE, most_record_bytes
from penstock.testing import build_job
from penstock.vocabulary.settings.known_options import KNOWN_OPTIONS, KNOWN_PREFIXES
from penstock.vocabulary.settings.refused_options import REFUSED_OPTIONS
from penstock.vocabulary.state.rocksdb_options import ROCKSDB, ROCKSDB_OPTIONS
from tests.architecture.options_page import PAGE, page

CHECKPOINTING = "execution.checkpointing."
FIXED = {"restart-strategy.type": "fixed-delay"}
RATE = {"restart-strategy.type": "failure-rate"}
EXPONENTIAL = {"restart-strategy.type": "exponential-delay"}
ROCKS = {"state.backend.type": "rocksdb"}
DIRECTORY = {CHECKPOINTING + "dir": "file:///c"}
ROCKS_VALUES = {"size": "3 mb", "integer": "7", "number": "7", "flag": "false", "text": "/a/log"}

# A value that is not the usual one, and what must be set with it for it to count.
EXAMPLES: dict[str, tuple[Any, dict[str, str]]] = {
    "parallelism.default": ("3", {}),
    "pipeline.name": ("nightly", {}),
    "pipeline.max-parallelism": ("64", {}),
    "pipeline.auto-watermark-interval": ("7 s", {}),
    "pipeline.operator-chaining.enabled": ("false", {}),
    "pipeline.object-reuse": ("true", {}),
    "pipeline.auto-generate-uids": ("false", {}),
    "pipeline.global-job-parameters": ("a:1", {}),
    "execution.runtime-mode": ("BATCH", {}),
    "execution.sorted-inputs.memory": ("7 mb", {}),
    "execution.buffer-timeout.interval": ("7 s", {}),
    "execution.buffer-timeout.enabled": ("false", {}),
    "python.files": (__file__, {}),
    "task.cancellation.interval": ("7 s", {}),
    "task.cancellation.timeout": ("7 s", {}),
    CHECKPOINTING + "interval": ("7 s", {}),
    CHECKPOINTING + "mode": ("AT_LEAST_ONCE", {}),
    CHECKPOINTING + "timeout": ("7 s", {}),
    CHECKPOINTING + "min-pause": ("7 s", {}),
    CHECKPOINTING + "max-concurrent-checkpoints": ("7", {}),
    CHECKPOINTING + "tolerable-failed-checkpoints": ("7", {}),
    CHECKPOINTING + "externalized-checkpoint-retention": ("RETAIN_ON_CANCELLATION", {}),
    CHECKPOINTING + "num-retained": ("7", {}),
    CHECKPOINTING + "unaligned.enabled": ("true", {}),
    CHECKPOINTING + "unaligned.forced": ("true", {}),
    CHECKPOINTING + "aligned-checkpoint-timeout": ("7 s", {}),
    CHECKPOINTING + "checkpoints-after-tasks-finish.enabled": ("false", {}),
    CHECKPOINTING + "snapshot-compression": ("true", {}),
    CHECKPOINTING + "storage": ("jobmanager", DIRECTORY),
    CHECKPOINTING + "dir": ("file:///c", {}),
    CHECKPOINTING + "savepoint-dir": ("file:///s", {}),
    CHECKPOINTING + "data-inline-threshold": ("1 kb", DIRECTORY),
    CHECKPOINTING + "incremental": ("true", ROCKS),
    "execution.state-recovery.path": ("/savepoints/1", {}),
    "execution.state-recovery.ignore-unclaimed-state": ("true", {}),
    "penstock.renamed-classes": ("shop.Order:shop.orders.Order", {}),
    "execution.state-recovery.claim-mode": ("CLAIM", {}),
    "restart-strategy.type": ("none", {}),
    "restart-strategy.fixed-delay.attempts": ("7", FIXED),
    "restart-strategy.fixed-delay.delay": ("7 s", FIXED),
    "restart-strategy.failure-rate.max-failures-per-interval": ("7", RATE),
    "restart-strategy.failure-rate.failure-rate-interval": ("7 s", RATE),
    "restart-strategy.failure-rate.delay": ("7 s", RATE),
    "restart-strategy.exponential-delay.initial-backoff": ("7 s", EXPONENTIAL),
    "restart-strategy.exponential-delay.max-backoff": ("7 s", EXPONENTIAL),
    "restart-strategy.exponential-delay.backoff-multiplier": ("7.0", EXPONENTIAL),
    "restart-strategy.exponential-delay.reset-backoff-threshold": ("7 s", EXPONENTIAL),
    "restart-strategy.exponential-delay.jitter-factor": ("0.7", EXPONENTIAL),
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": ("7", EXPONENTIAL),
    "state.backend.type": ("rocksdb", {}),
    ROCKSDB + "localdir": ("/a,/b", ROCKS),
    ROCKSDB + "checkpoint.transfer.thread.num": ("7", ROCKS),
    ROCKSDB + "predefined-options": ("FLASH_SSD_OPTIMIZED", ROCKS),
    ROCKSDB + "options-factory": ("mypackage.tuning.mine", ROCKS),
    **{
        ROCKSDB + option.name: (option.choices[-1] if option.choices else ROCKS_VALUES[option.kind], ROCKS)
        for option in ROCKSDB_OPTIONS
    },
}
BY_NAME = {
    "penstock.max-record-size",
    "penstock.guarantee",
    NO_OUTPUT_REPORT_INTERVAL,
    INTERVAL_OPTION,
    TIMEOUT_OPTION,
    *OPERATIONS_OPTIONS,
}
"""Options that are read from a job's settings by their name; tests of their own are below."""


def described(entries: dict[str, Any]) -> dict[str, Any]:
    """Everything that a job knows of its settings, without the entries themselves."""
    env = StreamExecutionEnvironment(Configuration.from_dict(entries))
    settings = {**vars(env._settings(None)), "options": None}
    backend = env.get_state_backend()
    getters = [name for name in dir(backend) if name.startswith(("get_", "is_")) and name != "get_factory"]
    kept = {name: value for name, value in vars(env).items() if name not in _NO_SETTINGS}
    return {
        **kept,
        "settings": settings,
        "config": vars(env.get_config()),
        "checkpoints": vars(env.get_checkpoint_config()),
        "backend": (type(backend).__name__, {name: getattr(backend, name)() for name in getters}),
    }


_NO_SETTINGS = {
    "_configuration", "_config", "_checkpoint_config", "_state_backend", "graph", "_rocksdb_configuration",
}  # fmt: skip


def keys_with_older_names() -> list[tuple[str, str]]:
    return [(key, name) for key, option in KNOWN_OPTIONS.items() for name in (key, *option.older)]


def test_every_option_has_an_example() -> None:
    assert KNOWN_OPTIONS.keys() == EXAMPLES.keys() | BY_NAME


@pytest.mark.parametrize(("key", "name"), [pair for pair in keys_with_older_names() if pair[0] in EXAMPLES])
def test_an_option_changes_the_job(key: str, name: str) -> None:
    value, others = EXAMPLES[key]
    assert described({**others, name: value}) != described(others)


def test_no_other_key_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    read, contains, first, below = (
        Configuration._read, Configuration.contains_key, Configuration.first_key, Configuration.below,
    )  # fmt: skip
    monkeypatch.setattr(Configuration, "_read", lambda self, key, *rest: asked.add(key) or read(self, key, *rest))
    monkeypatch.setattr(Configuration, "contains_key", lambda self, key: asked.add(key) or contains(self, key))
    monkeypatch.setattr(Configuration, "first_key", lambda self, *keys: asked.update(keys) or first(self, *keys))
    monkeypatch.setattr(Configuration, "below", lambda self, prefix: asked.add(prefix) or below(self, prefix))
    for key, (value, others) in EXAMPLES.items():
        described({**others, key: value})
    known = {name for _, name in keys_with_older_names()} | KNOWN_PREFIXES.keys() | REFUSED_OPTIONS.keys()
    assert asked - known - {"", ROCKSDB} == set(), "register it in penstock/vocabulary/settings/known_options.py"
    assert {name for key, name in keys_with_older_names() if key not in BY_NAME} - asked == set()


def test_the_guarantee_is_asked_of_a_job() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"penstock.guarantee": "more-than-once"}))
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match="guarantee is one of"):
        build_job(env)


def test_the_watch_over_event_time_is_asked_for() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({NO_OUTPUT_REPORT_INTERVAL: "7 s"}))
    env.from_collection([1]).print()
    job = build_job(env)
    assert NoOutputWatch.from_options(job.plan, job.settings.options)._interval == 7000


def test_heartbeats_are_asked_for() -> None:
    entries = {INTERVAL_OPTION: "2 s", TIMEOUT_OPTION: "7 s"}
    env = StreamExecutionEnvironment(Configuration.from_dict(entries))
    env.from_collection([1]).print()
    assert HeartbeatSettings.from_options(build_job(env).settings.options) == HeartbeatSettings(2_000, 7_000)


def test_the_most_bytes_of_a_record_are_asked_for() -> None:
    assert most_record_bytes({MAX_RECORD_SIZE: "3 mb"}) == 3 << 20


def test_an_environment_tells_of_keys_that_do_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "penstock.configuration"):
        env = StreamExecutionEnvironment(Configuration.from_dict({"paralelism.default": "3"}))
        env.configure(Configuration.from_dict({"pipeline.nam": "x"}))
    assert [record.args for record in caplog.records] == [
        ("paralelism.default", "parallelism.default"),
        ("pipeline.nam", "pipeline.name"),
    ]


@pytest.mark.parametrize("key", REFUSED_OPTIONS)
def test_an_environment_refuses_what_cannot_be_had(key: str) -> None:
    with pytest.raises(ProgramError, match="cannot be had"):
        StreamExecutionEnvironment(Configuration.from_dict({key: "something"}))


def test_the_page_of_options_is_up_to_date() -> None:
    assert Path(PAGE).read_text(encoding="utf-8") == page(), "run python -m tests.architecture.options_page"
