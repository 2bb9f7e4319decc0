"""Notices that event time has stopped while there is input, so that a silent job explains itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.runtime.diagnostics.no_output import Reports, subtask_reports, waits_for_event_time, why_no_output
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.vocabulary.time.durations import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.graph.plan import Plan

__all__ = ["NO_OUTPUT_REPORT_INTERVAL", "NoOutputWatch"]

NO_OUTPUT_REPORT_INTERVAL = "penstock.no-output-report-interval"
"""The option: how long event time may stand still before the job's log says why; 0 turns it off."""
_USUAL_INTERVAL = 60_000


@dataclass
class _Standstill:
    """Since when the watermark of a subtask is the same, and how many records it had when that was last told."""

    watermark: int
    since: int
    records_told: int = -1


class NoOutputWatch:
    """Is shown the reports of a running job again and again, and answers with a text when there is something to tell.

    A subtask that works in event time and has had records, but whose watermark has not moved for the interval, is told
    once; again only if more records have arrived since and another interval has passed.
    """

    def __init__(self, plan: Plan, interval: int = _USUAL_INTERVAL) -> None:
        self._plan = plan
        self._interval = interval
        self._known: dict[tuple[int, int], _Standstill] = {}
        self._last_told: int | None = None

    @classmethod
    def from_options(cls, plan: Plan, options: Mapping[str, Any]) -> NoOutputWatch:
        """Make a watch with the interval that a job's options give."""
        value = options.get(NO_OUTPUT_REPORT_INTERVAL, _USUAL_INTERVAL)
        try:
            interval = parse_duration(str(value))
        except ValueError as error:
            message = f"{NO_OUTPUT_REPORT_INTERVAL}: {error}"
            raise ProgramError(message) from error
        return cls(plan, interval)

    def observe(self, reports: Reports, now: int, time_of_day: int | None = None) -> str | None:
        """Take the last reports of all tasks; return what to log, ``None`` if there is nothing new to tell.

        How long event time has stood still is measured by ``now``, which never goes back; what it is compared with in
        the text is the time of day.
        """
        if self._interval <= 0:
            return None
        stalled = [
            found
            for subtask, report in subtask_reports(reports).items()
            if (found := self._standstill(subtask, report, now)) is not None
        ]
        if not stalled or (self._last_told is not None and now - self._last_told < self._interval):
            return None
        if not any(standstill.records_told < records for standstill, records in stalled):
            return None
        for standstill, records in stalled:
            standstill.records_told = records
        self._last_told = now
        longest = max(now - standstill.since for standstill, _ in stalled)
        shown = format_duration(longest // 1000 * 1000)
        return f"event time has not moved for {shown}, so steps in event time give no results:\n" + why_no_output(
            self._plan, reports, now if time_of_day is None else time_of_day
        )

    def _standstill(self, subtask: tuple[int, int], report: dict[str, Any], now: int) -> tuple[_Standstill, int] | None:
        """Return the standstill of a subtask, if it lasts long enough, with the records it has had."""
        watermark = report["watermark"]
        vertex = self._plan.vertices[subtask[0]]
        is_waiting = (
            not vertex.is_source
            and report["records_in"] > 0
            and not report["is_finished"]
            and watermark != MAX_TIMESTAMP
            and waits_for_event_time(vertex, report)
        )
        if not is_waiting:
            self._known.pop(subtask, None)
            return None
        known = self._known.get(subtask)
        if known is None or known.watermark != watermark:
            self._known[subtask] = _Standstill(watermark, now)
            return None
        return (known, report["records_in"]) if now - known.since >= self._interval else None
