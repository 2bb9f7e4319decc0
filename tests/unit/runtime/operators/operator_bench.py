"""One operator under test: what it emits is written down in order, its clock moves by hand."""

from __future__ import annotations

from typing import Any

from penstock.foundation.clock import ManualClock
from penstock.runtime.exchange.elements import RECORDS, STATUS, WATERMARK, Element, Timestamps, Values
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import OperatorContext, SubtaskInfo
from penstock.runtime.task.output import Output
from penstock.runtime.task.services import TaskServices
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.statestore.backend import KeyContext
from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.settings.execution import ExecutionConfig


class Recorder:
    """Takes what an operator emits and keeps it, in order."""

    def __init__(self) -> None:
        self.elements: list[Element] = []

    def process(self, values: Values, timestamps: Timestamps) -> None:
        self.elements.append((RECORDS, values, timestamps))

    def process_watermark(self, timestamp: int) -> None:
        self.elements.append((WATERMARK, timestamp))

    def process_status(self, is_idle: bool) -> None:
        self.elements.append((STATUS, is_idle))

    def note_failure(self, error: BaseException) -> None:
        """Nothing fails here."""

    @property
    def values(self) -> list[Any]:
        return [value for element in self.elements if element[0] == RECORDS for value in element[1]]

    @property
    def watermarks(self) -> list[int]:
        return [element[1] for element in self.elements if element[0] == WATERMARK]

    @property
    def statuses(self) -> list[bool]:
        return [element[1] for element in self.elements if element[0] == STATUS]

    @property
    def flat(self) -> list[Any]:
        """Records as (value, timestamp), watermarks and statuses as ("watermark", 5) and ("idle", True), in order."""
        found: list[Any] = []
        for element in self.elements:
            if element[0] == RECORDS:
                found.extend(zip(element[1], element[2] or [None] * len(element[1]), strict=True))
            else:
                found.append(("watermark" if element[0] == WATERMARK else "idle", element[1]))
        return found


class Bench:
    """Sets an operator up with a recorder behind it and opens it."""

    def __init__(
        self,
        operator: Operator,
        *,
        sides: tuple[str, ...] = (),
        index: int = 0,
        parallelism: int = 1,
        interval: int = 200,
        services: TaskServices | None = None,
    ) -> None:
        self.operator = operator
        self.clock = ManualClock()
        self.time = ProcessingTimeService(self.clock)
        self.main = Recorder()
        self.sides = {tag: Recorder() for tag in sides}
        context = OperatorContext(
            info=SubtaskInfo("step", index, parallelism, 128),
            operator_id="1",
            clock=self.clock,
            processing_time=self.time,
            metrics=MetricGroup(self.clock.now),
            execution_config=ExecutionConfig().set_auto_watermark_interval(interval),
            keys=KeyContext(),
            services=services or TaskServices(),
        )
        operator.setup(context, Output([self.main], {tag: [recorder] for tag, recorder in self.sides.items()}))
        operator.open()

    def advance(self, millis: int) -> None:
        """Move the clock millisecond by millisecond where something is due."""
        target = self.clock.now() + millis
        while (due := self.time.next_time()) is not None and due <= target:
            self.clock.set(max(due, self.clock.now()))
            self.time.fire_due()
        self.clock.set(target)
