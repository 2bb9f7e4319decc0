"""What a function may ask for: the subtask it runs in, its keyed state, time and timers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from penstock.vocabulary.metrics import MetricGroup
    from penstock.vocabulary.settings.execution import ExecutionConfig
    from penstock.vocabulary.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )
    from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

__all__ = ["KeyedStateStore", "RuntimeContext", "TimerService"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class KeyedStateStore(ABC):
    """Hands out state whose content belongs to the key of the record being processed."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return the handle of a state with one value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the handle of a state with a list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return the handle of a state with a map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return the handle of a state that reduces what is added to one value per key."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, ACC, OUT]
    ) -> AggregatingState[IN, OUT]:
        """Return the handle of a state that aggregates what is added per key."""


class RuntimeContext(KeyedStateStore):
    """Describes the subtask a function runs in and gives access to its keyed state and metrics."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the step the function belongs to."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the step."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups, the upper bound of the parallelism."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the number of this subtask, from 0 to the parallelism minus 1."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often the job has been restarted, 0 for the first run."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the name with the subtask, for example ``Map (3/6)``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or ``default_value`` if it is not set."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the metric group of the step, where counters, gauges, meters and distributions are registered."""

    @abstractmethod
    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution config of the job."""


class TimerService(ABC):
    """Tells the time and keeps timers for the current key; all times are milliseconds since the epoch.

    There is at most one timer per key, time domain and timestamp. Registering needs a keyed stream.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the clock's time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires when the clock reaches ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer that fires when the watermark reaches ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the processing-time timer of that time; without such a timer nothing happens."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the event-time timer of that time; without such a timer nothing happens."""
