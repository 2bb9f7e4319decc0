"""A job in this process that a test feeds event by event, looking at results and watermark in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import Configuration, DataStream, ProcessFunction, StreamExecutionEnvironment, WatermarkStrategy
from penstock.graph.steps import CollectStep
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.runtime.operators.process import ProcessOperator
from penstock.testing import LocalRun
from penstock.testing.scripted_source import Event, EventKind, Script, ScriptedSource, ScriptedTime, values_of


class Pass(ProcessFunction[Any, Any]):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value


class ScriptedJob:
    """Runs what ``build`` makes of one stream per channel, or of one stream whose splits are the channels."""

    def __init__(
        self,
        channels: Sequence[str],
        build: Callable[[DataStream[Any]], DataStream[Any]],
        *,
        strategy: WatermarkStrategy | None = None,
        as_splits: bool = False,
        run_length: int = 1,
        parallelism: int = 1,
    ) -> None:
        env = StreamExecutionEnvironment(Configuration())
        env.set_parallelism(parallelism)
        self.script = Script(run_length=run_length)
        self.channels = channels
        # Asked after each record, where there is a rule; else the events say the watermarks.
        time = ScriptedTime(strategy or WatermarkStrategy.no_watermarks(), after_each=True)
        if as_splits:
            stream: DataStream[Any] = env.from_source(ScriptedSource(self.script, channels), time, "splits")
        else:
            nothing = WatermarkStrategy.no_watermarks()
            sources = [env.from_source(ScriptedSource(self.script, [name]), nothing, name) for name in channels]
            timed = [source.assign_timestamps_and_watermarks(time) for source in sources]
            stream = timed[0].union(*timed[1:])
        result = build(stream.flat_map(values_of)).process(Pass()).name("probe")
        result._sink("Collect", CollectStep(collection="out"))
        self.run = LocalRun.of(env, "job")
        self.run.open()

    def push(self, channel: str, event: Event) -> None:
        """Let something happen and wait until all of it is done."""
        self.script.add(channel, event)
        self.settle()

    def record(self, channel: str, value: Any, timestamp: int) -> None:
        self.push(channel, Event(EventKind.RECORD, value, timestamp))

    def watermark(self, channel: str, timestamp: int) -> None:
        self.push(channel, Event(EventKind.WATERMARK, None, timestamp))

    def settle(self) -> None:
        while self.run.step() or not self.script.is_read:
            pass

    def end(self) -> None:
        """End every channel and close the job."""
        for channel in self.channels:
            self.push(channel, Event(EventKind.END))
        assert self.run.is_finished
        self.run.close()

    @property
    def outputs(self) -> list[Any]:
        """Everything that came out so far."""
        return self.run.collected.get("out", [])

    def watermarks(self) -> list[int]:
        """The watermark that has reached the result, per subtask."""
        found = {
            operator.context.info.index: operator._service.watermark
            for task in self.run.tasks
            for subtask in task.subtasks.values()
            for operator in subtask.chain.operators
            if isinstance(operator, ProcessOperator) and operator.context.info.name == "probe"
        }
        return [found[index] for index in sorted(found)] or [MIN_TIMESTAMP]
