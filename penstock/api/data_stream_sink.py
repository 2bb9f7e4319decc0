"""The end of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api.step_settings import StepSettings

if TYPE_CHECKING:
    from penstock.api.environment import StreamExecutionEnvironment

__all__ = ["DataStreamSink"]


class DataStreamSink(StepSettings):
    """A step that takes records out of the job; its settings can still be changed."""

    def __init__(self, environment: StreamExecutionEnvironment, node: int) -> None:
        self._environment = environment
        self._node = node

    def _settings_node(self, setting: str) -> int:
        return self._node
