"""What can be set for every harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.foundation.clock import ManualClock
    from penstock.testing.harness_snapshot import HarnessSnapshot
    from penstock.vocabulary.settings.execution import ExecutionConfig
    from penstock.vocabulary.state.backends import StateBackend

__all__ = ["HarnessOptions"]


class HarnessOptions(TypedDict, total=False):
    """The keyword arguments that all harnesses take.

    Attributes:
        clock: A clock of the test's own; otherwise one that starts with 0, or with the time of the snapshot.
        state_backend: Where keyed state is kept; otherwise in memory.
        parallelism: How many subtasks the step has; the harness is one of them, and takes its keys only.
        subtask: Which of them the harness is.
        max_parallelism: The number of key groups; otherwise that of the snapshot, or 128.
        restore: The snapshot to start from, or those of all former subtasks.
        execution_config: What functions see as the settings of the job.
    """

    clock: ManualClock | None
    state_backend: StateBackend | None
    parallelism: int
    subtask: int
    max_parallelism: int | None
    restore: HarnessSnapshot | Sequence[HarnessSnapshot] | None
    execution_config: ExecutionConfig | None
