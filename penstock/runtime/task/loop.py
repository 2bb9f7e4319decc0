"""The loop of a task: input, sources, timers, flushing, one after the other in one thread."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.runtime.checkpoint.restoring import RestoredSubtask
    from penstock.runtime.task.task import Task

__all__ = ["Blocks", "Inbox", "run_task"]

Blocks = list[tuple[int, bytes]]
"""Blocks to send, each with the task of the next stage it goes to."""

_INPUT_BLOCKS = 16
_LONGEST_WAIT_MILLIS = 1000
_PAUSE_MILLIS = 4
"""How long a task with nothing to do keeps an unfilled block back after it has sent one.

Sending costs as much for one record as for a thousand. A stream of single records would keep processors busy with
blocks of one record each, and all records would wait for them.
"""


class Inbox:
    """Where other threads put things for a task: blocks from the network, commands of the driver, wake-ups of sources.

    Blocks are bounded, so a slow task slows down those who send to it. Commands are not: they must get through.
    """

    def __init__(self) -> None:
        self._blocks: queue.Queue[bytes | None] = queue.Queue(_INPUT_BLOCKS)
        self._commands: deque[Callable[[], None]] = deque()
        self._woken = threading.Event()
        self.is_ended = False
        self.turns = 0
        """How many times the task has come back from the functions of the program to look here."""

    def put(self, block: bytes) -> None:
        """Add a block, waiting while the inbox is full."""
        self._blocks.put(block)

    def end(self) -> None:
        """Say that no block will follow."""
        self.command(self._mark_ended)

    def _mark_ended(self) -> None:
        self.is_ended = True

    def command(self, call: Callable[[], None]) -> None:
        """Have something done in the task's own thread, soon."""
        self._commands.append(call)
        self.wake_up()

    def wake_up(self) -> None:
        """End the task's wait."""
        self._woken.set()
        try:
            self._blocks.put_nowait(None)
        except queue.Full:
            return  # a full inbox is not waited on

    def take(self, wait_millis: int) -> bytes | None:
        """Return the next block; ``None`` after a wake-up, or if none came in time."""
        try:
            return self._blocks.get(timeout=wait_millis / 1000) if wait_millis > 0 else self._blocks.get_nowait()
        except queue.Empty:
            return None

    def pause(self, wait_millis: int) -> None:
        """Wait for a wake-up, but take no block."""
        self._woken.wait(wait_millis / 1000)
        self._woken.clear()

    def has_blocks(self) -> bool:
        """Tell whether something is waiting."""
        return not self._blocks.empty()

    def run_commands(self) -> None:
        """Do what was asked for."""
        self.turns += 1
        while self._commands:
            self._commands.popleft()()


def run_task(task: Task, inbox: Inbox, restored: Mapping[int, RestoredSubtask] | None = None) -> Iterator[Blocks]:
    """Run a task to its end; yields blocks to send.

    An empty list means that the task is about to wait, or to work for long: whatever was sent must reach its receiver
    without anything behind it.
    """
    clock = task.clock
    task.open(restored)
    pause = min(_PAUSE_MILLIS, task.buffer_timeout)
    last_flush = clock.elapsed()
    last_sent = last_flush - pause
    while not (task.may_end and inbox.is_ended and not inbox.has_blocks()):
        inbox.run_commands()
        is_full = task.is_full
        block = None if is_full else inbox.take(0)
        if block is not None:
            task.receive(block)
        has_worked = task.work_off() or block is not None
        has_worked = task.poll_sources() or has_worked
        has_worked = task.processing_time.fire_due() or has_worked
        now = clock.elapsed()
        kept_back = pause - (now - last_sent)
        is_overdue = now - last_flush >= task.buffer_timeout
        if is_overdue or (kept_back <= 0 and not has_worked):
            task.flush()
            last_flush = now
        if task.outbox:
            last_sent = now
            yield task.take_outbox()
            if is_overdue and has_worked:
                yield []  # a task that is always busy with slow functions would send nothing behind it for long
        if is_full and not has_worked:
            yield []
            inbox.pause(_wait_millis(task, kept_back))
        elif not has_worked and not inbox.has_blocks() and not (task.may_end and inbox.is_ended):
            yield []
            block = inbox.take(_wait_millis(task, kept_back))
            if block is not None:
                task.receive(block)
    inbox.run_commands()
    task.close()
    yield task.take_outbox()


def _wait_millis(task: Task, kept_back: int) -> int:
    left, idle = task.processing_time.wait_millis(), task.idle_millis
    longest = _LONGEST_WAIT_MILLIS if idle is None else min(idle, _LONGEST_WAIT_MILLIS)
    if kept_back > 0:
        longest = min(longest, kept_back)
    return longest if left is None else max(1, min(left, longest))
