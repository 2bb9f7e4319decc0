"""Transactional producers that fail at a chosen step, as a process does that dies there."""

from __future__ import annotations

from typing import Any

from penstock import KafkaSink
from penstock.connectors.kafka.transaction import TransactionalProducer
from tests.unit.sinks.lives import CrashError

__all__ = ["STEPS", "FailingProducer", "FailingSink", "Faults"]

STEPS = ("start", "begin", "send", "flush", "mark", "commit")
"""What a transactional producer does, in order."""


class Faults:
    """Where to fail: each point, ``before commit`` or the like, with how many times it passes first.

    A crash that kills leaves everything as it is; else producers are closed, as after a failure of another step.
    """

    def __init__(self) -> None:
        self.points: list[tuple[str, int]] = []
        self.kills = False
        self.dead: list[FailingProducer] = []
        self.struck: list[str] = []

    def plan(self, *points: tuple[str, int], kills: bool = False) -> None:
        self.points = list(points)
        self.kills = kills
        self.struck = []

    def pass_by(self, point: str) -> None:
        if self.points and self.points[0][0] == point:
            passes = self.points[0][1]
            if passes == 0:
                del self.points[0]
                self.struck.append(point)
                raise CrashError
            self.points[0] = (point, passes - 1)


FAULTS = Faults()


class FailingProducer(TransactionalProducer):
    """Fails where the plan says."""

    def _start(self) -> None:
        self._do("start", super()._start)

    def begin(self) -> None:
        self._do("begin", super().begin)

    def send(self, run: Any) -> None:
        self._do("send", super().send, run)

    def flush(self) -> None:
        self._do("flush", super().flush)

    def mark(self, topic: str, lineage: str, sequence: int) -> None:
        self._do("mark", super().mark, topic, lineage, sequence)

    def commit(self) -> bool:
        return bool(self._do("commit", super().commit))

    def abandon(self) -> None:
        if FAULTS.kills and FAULTS.struck:
            FAULTS.dead.append(self)  # nobody tells the brokers anything
        else:
            super().abandon()

    @staticmethod
    def _do(step: str, call: Any, *arguments: Any) -> Any:
        FAULTS.pass_by(f"before {step}")
        result = call(*arguments)
        FAULTS.pass_by(f"after {step}")
        return result


class FailingSink(KafkaSink[Any]):
    """A Kafka sink with failing producers."""

    def _producer_class(self) -> type[TransactionalProducer]:
        return FailingProducer
