"""Builds the job of a transcript: from its keys, or by a function of the program."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.api.pattern_stream import CEP
from penstock.errors import ProgramError
from penstock.testing.scripted_source import Event, Script, ScriptedSource, ScriptedTime, values_of
from penstock.testing.transcript import millis
from penstock.testing.window_columns import window_columns
from penstock.vocabulary.cep.pattern import Pattern
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.time.legacy_assigners import (
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.windows.assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.vocabulary.windows.continuous_triggers import ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger
from penstock.vocabulary.windows.evictors import CountEvictor, TimeEvictor
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows, ProcessingTimeSessionWindows
from penstock.vocabulary.windows.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.testing.transcript import Transcript

__all__ = ["Jobs", "build_outputs"]

Jobs = Mapping[str, Callable[..., Any]]
"""Functions that build a job: from one stream per channel to the stream of results."""

_BY_FIELD = ("sum", "min", "max", "min_by", "max_by")


def build_outputs(
    transcript: Transcript, environment: StreamExecutionEnvironment, script: Script, jobs: Jobs
) -> dict[str, DataStream[Any]]:
    """Add the job to an environment; return its result under ``""`` and the side outputs under their tags."""
    try:
        result = _result(transcript.settings, _inputs(transcript, environment, script), jobs)
        if transcript.parallelism > 1:
            result.set_parallelism(transcript.parallelism)
    except (ValueError, TypeError, LookupError) as error:
        message = f"The job of {transcript} cannot be built: {error}"
        raise ProgramError(message) from error
    sides: dict[str, DataStream[Any]] = {tag: result.get_side_output(OutputTag(tag)) for tag in transcript.side_outputs}
    return {"": result, **sides}


def _inputs(transcript: Transcript, environment: StreamExecutionEnvironment, script: Script) -> list[DataStream[Any]]:
    """Return one stream per channel, or one stream of all splits."""
    settings = transcript.settings
    strategy = _strategy(settings.get("watermarks")) if transcript.has_time else None
    if "splits" in settings:
        source = ScriptedSource(script, transcript.channels)
        split_strategy = strategy or WatermarkStrategy.no_watermarks()
        return [environment.from_source(source, split_strategy, "splits").flat_map(values_of).name("values")]
    streams = []
    for channel in transcript.channels:
        stream = environment.from_source(ScriptedSource(script, [channel]), WatermarkStrategy.no_watermarks(), channel)
        if strategy is not None:
            stream = stream.assign_timestamps_and_watermarks(strategy).name(f"time of {channel}")
        streams.append(stream.flat_map(values_of).name(f"values of {channel}"))
    return streams


def _strategy(watermarks: Any) -> WatermarkStrategy:
    """Return how a channel gets its watermarks: from the steps alone, or also by a rule."""
    if watermarks is None:
        return ScriptedTime(WatermarkStrategy.no_watermarks(), after_each=False)
    options = dict(watermarks) if isinstance(watermarks, Mapping) else {str(watermarks): True}
    is_periodic = bool(options.pop("periodic", False))
    idle_after = options.pop("idle_after", None)
    match options:
        case {"ascending": _, **rest} if not rest:
            strategy = WatermarkStrategy.for_monotonous_timestamps()
        case {"bounded": delay, **rest} if not rest:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(millis(delay))
        case {"legacy": delay, **rest} if not rest:
            strategy = WatermarkStrategy.for_legacy_assigner(_LegacyDelay(millis(delay)))
        case {"punctuated": _, **rest} if not rest:
            strategy = WatermarkStrategy.for_legacy_assigner(_LegacyPunctuated())
        case {**rest} if not rest:
            strategy = WatermarkStrategy.no_watermarks()
        case _:
            message = f"watermarks are ascending, bounded, legacy or punctuated, not {watermarks!r}"
            raise ProgramError(message)
    if idle_after is not None:
        strategy = strategy.with_idleness(millis(idle_after))
    return ScriptedTime(strategy, after_each=not is_periodic)


class _LegacyDelay(BoundedOutOfOrdernessTimestampExtractor[Event]):
    """Follows the timestamps of events without the newer extra millisecond."""

    def extract_timestamp(self, element: Event) -> int:
        assert element.timestamp is not None
        return element.timestamp


class _LegacyPunctuated(AssignerWithPunctuatedWatermarks[Event]):
    """Makes each timestamp a watermark."""

    def extract_timestamp(self, element: Event, previous_element_timestamp: int) -> int:
        assert element.timestamp is not None
        return element.timestamp

    def check_and_get_next_watermark(self, last_element: Event, extracted_timestamp: int) -> int:
        return extracted_timestamp


def _result(settings: Mapping[str, Any], inputs: list[DataStream[Any]], jobs: Jobs) -> DataStream[Any]:
    if "job" in settings:
        result: DataStream[Any] = _find_job(settings["job"], jobs)(*inputs)
        return result
    stream = inputs[0].union(*inputs[1:])
    by_field = [name for name in _BY_FIELD if name in settings]
    if len(by_field) + ("function" in settings) > 1 or (
        "window" in settings and not by_field and "function" not in settings
    ):
        message = f"windows need one of function, {', '.join(_BY_FIELD)}"
        raise ProgramError(message)
    target: Any = stream.key_by(_key(settings["key"])) if "key" in settings else stream
    if "pattern" in settings:
        return _matched(settings, target)
    if "window" in settings:
        target = _windowed(settings, target)
    elif "function" in settings:
        message = "a function needs a window"
        raise ProgramError(message)
    if by_field:
        return getattr(target, by_field[0])(settings[by_field[0]])  # type: ignore[no-any-return]
    if "function" in settings:
        function = window_columns(settings["function"], settings.get("value"), is_keyed="key" in settings)
        return target.process(function)  # type: ignore[no-any-return]
    return stream


def _find_job(name: Any, jobs: Jobs) -> Callable[..., Any]:
    if name in jobs:
        return jobs[name]
    module, _, function = str(name).partition(":")
    if not function:
        message = f"there is no job {name!r} among {sorted(jobs)}; a job elsewhere is written as module:function"
        raise ProgramError(message)
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _matched(settings: Mapping[str, Any], target: Any) -> DataStream[Any]:
    """Return the matches of a pattern, as mappings from part to events."""
    conditions: Any = _find_job(settings["conditions"], {}) if "conditions" in settings else {}
    found = CEP.pattern(target, Pattern.parse(settings["pattern"], conditions))
    if "late" in settings:
        found = found.side_output_late_data(OutputTag(settings["late"]))
    if "timed_out" in settings:
        return found.select(OutputTag(settings["timed_out"]), lambda match, time: [time, match], _itself)
    return found.select(_itself)


def _key(key: Any) -> Any:
    return _itself if key == "itself" else key


def _itself(value: Any) -> Any:
    return value


def _windowed(settings: Mapping[str, Any], target: Any) -> Any:
    window = settings["window"]
    window = dict(window) if isinstance(window, Mapping) else {str(window): True}
    if "count" in window:
        windows = target.count_window(window["count"], window.get("slide", 0))
    else:
        assigner = _assigner(window)
        windows = target.window(assigner) if "key" in settings else target.window_all(assigner)
    is_event_time = window.get("time", "event") == "event"
    if "trigger" in settings:
        windows.trigger(_trigger(settings["trigger"], is_event_time=is_event_time))
    if "evictor" in settings:
        ((kind, limit),) = settings["evictor"].items()
        windows.evictor(CountEvictor.of(limit) if kind == "count" else TimeEvictor.of(millis(limit)))
    if "allowed_lateness" in settings:
        windows.allowed_lateness(millis(settings["allowed_lateness"]))
    if "late" in settings:
        windows.side_output_late_data(OutputTag(settings["late"]))
    return windows


def _assigner(window: dict[str, Any]) -> WindowAssigner[Any, Any]:
    options = dict(window)
    is_event_time = options.pop("time", "event") == "event"
    offset = millis(options.pop("offset", 0))
    match options:
        case {"tumbling": size, **rest} if not rest:
            tumbling = TumblingEventTimeWindows if is_event_time else TumblingProcessingTimeWindows
            return tumbling.of(millis(size), offset)
        case {"sliding": size, "slide": slide, **rest} if not rest:
            sliding = SlidingEventTimeWindows if is_event_time else SlidingProcessingTimeWindows
            return sliding.of(millis(size), millis(slide), offset)
        case {"session": gap, **rest} if not rest:
            return (EventTimeSessionWindows if is_event_time else ProcessingTimeSessionWindows).with_gap(millis(gap))
        case {"global": _, **rest} if not rest:
            return GlobalWindows.create()
    message = f"a window is tumbling, sliding (with slide), session, count or global, not {window!r}"
    raise ProgramError(message)


def _trigger(trigger: Any, *, is_event_time: bool) -> Trigger[Any, Any]:
    match trigger:
        case {"count": size}:
            return CountTrigger.of(size)
        case {"continuous": interval}:
            continuous = ContinuousEventTimeTrigger if is_event_time else ContinuousProcessingTimeTrigger
            return continuous.of(millis(interval))
        case {"purging": nested}:
            return PurgingTrigger.of(_trigger(nested, is_event_time=is_event_time))
        case "event_time":
            return EventTimeTrigger.create()
        case "processing_time":
            return ProcessingTimeTrigger.create()
        case "never":
            return NeverTrigger()
    message = f"a trigger is count, continuous, purging, event_time, processing_time or never, not {trigger!r}"
    raise ProgramError(message)
