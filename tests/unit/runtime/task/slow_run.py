"""A run whose blocks arrive when the test says so: channels may be far behind each other."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from penstock.testing import LocalCheckpoint, LocalRun

__all__ = ["Slow"]


class Slow:
    """A run whose blocks a test delivers one by one; channels stay in order, but one may be far behind another."""

    def __init__(self, job: Any, restore: LocalCheckpoint | None = None) -> None:
        self.run = LocalRun(job, restore=restore)
        self.run.open()

    def poll(self, task: int) -> None:
        """Asks the sources of one task of the first stage and puts what they send on the wire."""
        sender = self.run.stages[0][task]
        sender.poll_sources()
        self.send(sender)

    def send(self, task: Any) -> None:
        task.flush()
        for target, block in task.take_outbox():
            self.run._inboxes[task.stage + 1, target].append(block)

    def deliver(self, count: int, sender: int | None = None, stage: int = 1, index: int = 0) -> None:
        """Delivers the next blocks of a subtask, of all senders or only one."""
        inbox = self.run._inboxes[stage, index]
        kept: deque[bytes] = deque()
        receiver = self.run.stages[stage][index]
        while inbox and count:
            block = inbox.popleft()
            if sender is None or block[2] == sender:
                receiver.receive(block)
                count -= 1
            else:
                kept.append(block)
        kept.extend(inbox)
        self.run._inboxes[stage, index] = kept
        self.send(receiver) if stage + 1 < len(self.run.stages) else receiver.take_outbox()

    def send_all(self) -> None:
        """Puts what the sources have sent on the wire, barriers of a checkpoint that has begun too."""
        for task in self.run.stages[0]:
            self.send(task)

    def wander(self, choices: random.Random, turns: int) -> None:
        """Asks sources and delivers blocks in any order that the channels allow."""
        for _ in range(turns):
            if choices.random() < 0.4:
                self.poll(choices.randrange(len(self.run.stages[0])))
            else:
                stage = choices.randrange(1, len(self.run.stages))
                index = choices.randrange(len(self.run.stages[stage]))
                sender = choices.choice([None, *range(len(self.run.stages[stage - 1]))])
                self.deliver(choices.randrange(3), sender=sender, stage=stage, index=index)

    def complete(self) -> LocalCheckpoint:
        """Delivers everything that is under way and returns the checkpoint that had begun."""
        while self.run.settle() or not self.run.checkpoints.is_idle:
            self.run.checkpoints.work()
        return self.run.checkpoints.complete[0]
