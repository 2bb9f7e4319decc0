"""The surroundings of an operator: who it is, what time it is, where its state and metrics are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import StateAccessError
from penstock.runtime.checkpoint.checkpointed_functions import initialize_function
from penstock.runtime.task.services import TaskServices
from penstock.statestore.operator_state import OperatorStateBackend
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.functions.contexts import RuntimeContext

if TYPE_CHECKING:
    from penstock.foundation.clock import Clock
    from penstock.runtime.time.processing_time import ProcessingTimeService
    from penstock.statestore.backend import KeyContext, KeyedStateBackend
    from penstock.vocabulary.metrics import MetricGroup
    from penstock.vocabulary.settings.execution import ExecutionConfig
    from penstock.vocabulary.settings.modes import CheckpointKind
    from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

__all__ = ["FunctionContext", "JobInfo", "OperatorContext", "SubtaskInfo", "open_function", "prepare_function"]


@dataclass(frozen=True)
class JobInfo:
    """Which job this is."""

    name: str = ""
    id: str = ""
    is_checkpointed: bool = True
    is_batch: bool = False
    checkpoint_timeout: int = 600_000
    """How long a checkpoint may take, in milliseconds: so long do sinks wait for the systems they write to."""


@dataclass(frozen=True)
class SubtaskInfo:
    """Which parallel instance of which step this is."""

    name: str
    index: int
    parallelism: int
    max_parallelism: int
    attempt: int = 0

    @property
    def label(self) -> str:
        """Return the name with the subtask, for example ``Map (3/6)``."""
        return f"{self.name} ({self.index + 1}/{self.parallelism})"


@dataclass
class OperatorContext:
    """What the runtime gives to one operator of one subtask."""

    info: SubtaskInfo
    operator_id: str
    clock: Clock
    processing_time: ProcessingTimeService
    metrics: MetricGroup
    execution_config: ExecutionConfig
    keys: KeyContext
    state: KeyedStateBackend | None = None
    """The keyed state; ``None`` where the input is not keyed."""
    operator_state: OperatorStateBackend = field(default_factory=OperatorStateBackend)
    """The state of the subtask itself."""
    restored_checkpoint_id: int | None = None
    """The checkpoint that the state comes from, ``None`` on a fresh start."""
    shared_savepoint: CheckpointKind | None = None
    """The kind of the savepoint that the state comes from, if other jobs may start from it as well."""
    checkpoint_timestamp: int = 0
    """When the checkpoint was triggered that is being taken, or was taken last."""
    services: TaskServices = field(default_factory=TaskServices)
    """What the executor lends to sinks and sources: where prints and collected records go."""
    job: JobInfo = field(default_factory=JobInfo)

    def keyed_state(self) -> KeyedStateBackend:
        """Return the keyed state, or explain that there is none."""
        if self.state is None:
            message = (
                f"Keyed state was asked for in step {self.info.name!r}, whose input is not keyed."
                " Call key_by() before this step."
            )
            raise StateAccessError(message)
        return self.state


class FunctionContext(RuntimeContext):
    """What a function of the program sees as its ``RuntimeContext``."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._info = context.info

    def get_task_name(self) -> str:
        """Return the name of the step."""
        return self._info.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the step."""
        return self._info.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""
        return self._info.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the number of this subtask, from 0."""
        return self._info.index

    def get_attempt_number(self) -> int:
        """Return how often the job was restarted."""
        return self._info.attempt

    def get_task_name_with_subtasks(self) -> str:
        """Return the name with the subtask, for example ``Map (3/6)``."""
        return self._info.label

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or the given value if it is not set."""
        return str(self._context.execution_config.get_global_job_parameters().get(key, default_value))

    def get_metrics_group(self) -> MetricGroup:
        """Return the metric group of the step."""
        return self._context.metrics

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution config of the job."""
        return self._context.execution_config

    def get_state(self, state_descriptor: Any) -> ValueState[Any]:
        """Return a state with one value per key."""
        return self._context.keyed_state().value_state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> ListState[Any]:
        """Return a state with a list per key."""
        return self._context.keyed_state().list_state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> MapState[Any, Any]:
        """Return a state with a map per key."""
        return self._context.keyed_state().map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> ReducingState[Any]:
        """Return a state that reduces what is added."""
        return self._context.keyed_state().reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingState[Any, Any]:
        """Return a state that aggregates what is added."""
        return self._context.keyed_state().aggregating_state(state_descriptor)


def open_function(function: Any, context: OperatorContext) -> None:
    """Open a function of the program, if it is one with a life cycle."""
    if isinstance(function, Function):
        function.open(prepare_function(function, context))


def prepare_function(function: Function, context: OperatorContext) -> FunctionContext:
    """Do what comes before a function is opened, and return what it is opened with."""
    runtime_context = FunctionContext(context)
    function.set_runtime_context(runtime_context)
    initialize_function(
        function,
        restored_checkpoint_id=context.restored_checkpoint_id,
        operator_state=context.operator_state,
        keyed=runtime_context,
    )
    return runtime_context
