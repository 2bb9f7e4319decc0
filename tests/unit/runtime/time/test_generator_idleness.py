"""A generator that itself says when its stream is idle: the status stands where the generator said it."""

from __future__ import annotations

from typing import Any

from penstock.foundation.clock import ManualClock
from penstock.runtime.time.watermark_assigner import WatermarkAssigner
from penstock.vocabulary.time.generators import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.vocabulary.time.strategy import WatermarkStrategy


class Spoken(WatermarkGenerator[Any]):
    """Does what the records say."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        for word in event.split():
            if word == "idle":
                output.mark_idle()
            elif word == "active":
                output.mark_active()
            elif word.isdigit():
                output.emit_watermark(Watermark(int(word)))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def flow(*records: str) -> list[Any]:
    out: list[Any] = []
    assigner = WatermarkAssigner(
        WatermarkStrategy.for_generator(Spoken).with_timestamp_assigner(lambda _, __: 1),
        ManualClock(),
        emit=lambda values, _: out.extend(values),
        on_watermark=out.append,
        on_status=out.append,
    )
    assigner.process(list(records), None)
    return out


def test_idleness_does_not_overtake_records() -> None:
    assert flow("a", "b idle") == ["a", "b idle", True]


def test_the_next_record_makes_the_stream_active() -> None:
    assert flow("a idle", "b", "c") == ["a idle", True, False, "b", "c"]


def test_a_watermark_before_idleness_counts() -> None:
    assert flow("a 5 idle", "b") == ["a 5 idle", 5, True, False, "b"]


def test_a_watermark_after_idleness_makes_the_stream_active() -> None:
    assert flow("a idle 5", "b") == ["a idle 5", 5, "b"]


def test_a_watermark_that_does_not_advance_leaves_the_stream_idle() -> None:
    assert flow("a 5", "b idle 5") == ["a 5", 5, "b idle 5", True]
    assert flow("a 5", "b idle 4") == ["a 5", 5, "b idle 4", True]


def test_active_again_at_once_says_nothing() -> None:
    assert flow("a idle active", "b") == ["a idle active", "b"]
