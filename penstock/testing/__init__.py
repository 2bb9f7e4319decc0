"""Running jobs and single operators in one process with a manual clock, for tests."""

from __future__ import annotations

from penstock.foundation.clock import ManualClock
from penstock.testing.built_job import build_job
from penstock.testing.harness import OperatorHarness
from penstock.testing.harness_output import Emitted, StatusChange
from penstock.testing.harness_snapshot import HarnessSnapshot
from penstock.testing.local_batch import LocalBatchRun
from penstock.testing.local_checkpoints import LocalCheckpoint
from penstock.testing.local_run import LocalRun, run_locally
from penstock.testing.transcript import Transcript
from penstock.testing.transcript_run import SparkReplay, pytest_transcripts, replay_on_spark, run_transcript

__all__ = [
    "Emitted",
    "HarnessSnapshot",
    "LocalBatchRun",
    "LocalCheckpoint",
    "LocalRun",
    "ManualClock",
    "OperatorHarness",
    "SparkReplay",
    "StatusChange",
    "Transcript",
    "build_job",
    "pytest_transcripts",
    "replay_on_spark",
    "run_locally",
    "run_transcript",
]
