"""Running jobs and single operators in one process with a manual clock, for tests."""

from __future__ import annotations

from penstock.runtime.clock import ManualClock
from penstock.testing.harness import OperatorHarness
from penstock.testing.local_run import LocalRun, run_locally

__all__ = ["LocalRun", "ManualClock", "OperatorHarness", "run_locally"]
