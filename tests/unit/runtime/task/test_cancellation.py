"""A task that is told to stop is interrupted until it does, and ended with its process if it does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.execution.spark.worker.cancellation import Cancellation, TaskCancelledError
from penstock.runtime.task.loop import Inbox

MINUTE = 60_000


class Task:
    """A cancellation with what it has said and done."""

    def __init__(self) -> None:
        self.stacks: list[str] = []
        self.is_ended = threading.Event()
        self.inbox = Inbox()
        self.cancellation = Cancellation(
            self.inbox, self.stacks.append, end_process=lambda _: self.is_ended.set(), first_seconds=0.01
        )


@pytest.fixture
def task() -> Iterator[Task]:
    found = Task()
    yield found
    found.cancellation.end()


def endless_wait_of_the_program() -> None:
    threading.Event().wait(30)


def test_a_function_that_waits_is_interrupted(task: Task) -> None:
    with task.cancellation.interruptible():
        task.cancellation.request(MINUTE, MINUTE)
        with pytest.raises(TaskCancelledError):
            endless_wait_of_the_program()
    assert task.stacks == []


def test_a_task_that_looks_into_its_inbox_is_stopped_there(task: Task) -> None:
    with task.cancellation.interruptible():
        task.cancellation.request(MINUTE, MINUTE)
        with pytest.raises(TaskCancelledError):
            task.inbox.run_commands()


def test_a_function_that_goes_on_is_interrupted_again_after_the_interval(task: Task) -> None:
    interrupts = 0
    with task.cancellation.interruptible():
        task.cancellation.request(20, MINUTE)
        while interrupts < 3:
            try:
                endless_wait_of_the_program()
            except TaskCancelledError:
                interrupts += 1
        task.cancellation.begin_stopping()
    assert interrupts == 3


def test_a_task_that_does_not_end_in_time_is_ended_and_says_where_it_sits(task: Task) -> None:
    with task.cancellation.interruptible():
        task.cancellation.request(MINUTE, 50)
        with pytest.raises(TaskCancelledError):
            endless_wait_of_the_program()
        task.cancellation.begin_stopping()  # its functions are being closed, and one of them hangs
        endless_close_of_the_program(task.is_ended)
    (stack,) = task.stacks
    assert "endless_close_of_the_program" in stack


def endless_close_of_the_program(ended: threading.Event) -> None:
    assert ended.wait(30)


def test_without_a_timeout_nothing_is_ended(task: Task) -> None:
    with task.cancellation.interruptible():
        task.cancellation.request(1, 0)
        for _ in range(3):
            with pytest.raises(TaskCancelledError):
                endless_wait_of_the_program()
    assert not task.is_ended.is_set()


def test_a_task_that_has_closed_its_functions_is_left_alone(task: Task) -> None:
    with task.cancellation.interruptible():
        task.cancellation.end()
        task.cancellation.request(1, 20)
        assert not task.is_ended.wait(0.06)


def test_handing_rows_over_is_not_interrupted(task: Task) -> None:
    with task.cancellation.interruptible():
        with task.cancellation.sending():
            task.cancellation.request(MINUTE, MINUTE)
            assert not task.is_ended.wait(0.05)
        with pytest.raises(TaskCancelledError):
            endless_wait_of_the_program()
