"""Callbacks at points of processing time."""

from __future__ import annotations

import pytest

from penstock.foundation.clock import ManualClock
from penstock.runtime.time.processing_time import ProcessingTimeService


@pytest.fixture
def service() -> ProcessingTimeService:
    return ProcessingTimeService(ManualClock(100))


def clock(service: ProcessingTimeService) -> ManualClock:
    assert isinstance(service.clock, ManualClock)
    return service.clock


def test_a_callback_runs_once_when_its_time_has_come(service: ProcessingTimeService) -> None:
    ran: list[int] = []
    service.schedule(110, ran.append)
    assert service.next_time() == 110
    assert not service.fire_due()
    clock(service).set(110)
    assert service.fire_due()
    assert ran == [110]
    assert not service.fire_due()
    assert service.next_time() is None


def test_callbacks_run_in_the_order_of_time_then_of_registration(service: ProcessingTimeService) -> None:
    ran: list[str] = []
    service.schedule(130, lambda _: ran.append("late"))
    service.schedule(120, lambda _: ran.append("first"))
    service.schedule(120, lambda _: ran.append("second"))
    clock(service).set(200)
    service.fire_due()
    assert ran == ["first", "second", "late"]


def test_a_cancelled_callback_never_runs(service: ProcessingTimeService) -> None:
    ran: list[int] = []
    service.schedule(110, ran.append).cancel()
    service.schedule(120, ran.append)
    assert service.next_time() == 120
    clock(service).set(200)
    service.fire_due()
    assert ran == [120]


def test_a_callback_may_cancel_another_of_the_same_time(service: ProcessingTimeService) -> None:
    ran: list[int] = []
    calls = []
    service.schedule(110, lambda _: calls[0].cancel())
    calls.append(service.schedule(110, ran.append))
    clock(service).set(110)
    service.fire_due()
    assert ran == []


def test_a_time_in_the_past_runs_at_the_next_opportunity(service: ProcessingTimeService) -> None:
    ran: list[int] = []
    service.schedule(5, ran.append)
    service.fire_due()
    assert ran == [5]


def test_every_interval_without_making_up_for_missed_rounds(service: ProcessingTimeService) -> None:
    ran: list[int] = []
    service.schedule_every(10, ran.append)
    clock(service).set(110)
    service.fire_due()
    clock(service).set(155)
    service.fire_due()
    assert ran == [110, 120]
    assert service.next_time() == 165


def test_a_clock_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock(10).set(9)
