"""A transactional sink over a dictionary: what a database with prepared transactions does, without the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock import Committer, Delivery, Sink, SinkWriter, TwoPhaseCommitSinkFunction, WriterContext


@dataclass
class Ledger:
    """The outside world; it outlives every attempt of the job."""

    open: dict[str, list[Any]] = field(default_factory=dict)
    prepared: dict[str, list[Any]] = field(default_factory=dict)
    visible: list[Any] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    fault: Callable[[str], None] = lambda step: None
    begun: int = 0

    def step(self, name: str) -> None:
        self.calls.append(name)
        self.fault(name)

    def commit(self, name: str) -> None:
        if name in self.prepared:
            self.visible += self.prepared.pop(name)


LEDGERS: dict[str, Ledger] = {}
"""By name: functions are copied on their way to a task, and these must not be."""


class LedgerSink(TwoPhaseCommitSinkFunction[Any, str, None]):
    """Tells a ledger what the engine does, step by step."""

    def __init__(self, ledger: str) -> None:
        super().__init__()
        self._name = ledger

    @property
    def ledger(self) -> Ledger:
        return LEDGERS[self._name]

    def begin_transaction(self) -> str:
        ledger = self.ledger
        ledger.step("before begin")
        name = f"t{ledger.begun}"
        ledger.begun += 1
        ledger.open[name] = []
        ledger.step("after begin")
        return name

    def invoke(self, transaction: str, value: Any, context: Any) -> None:
        self.ledger.open[transaction].append(value)
        self.ledger.step(f"invoke {value}")

    def pre_commit(self, transaction: str) -> None:
        self.ledger.step("before pre-commit")
        self.ledger.prepared[transaction] = self.ledger.open.pop(transaction)
        self.ledger.step("after pre-commit")

    def commit(self, transaction: str) -> None:
        self.ledger.step("before commit")
        self.ledger.commit(transaction)
        self.ledger.step("after commit")

    def abort(self, transaction: str) -> None:
        self.ledger.step("abort")
        self.ledger.open.pop(transaction, None)
        self.ledger.prepared.pop(transaction, None)


class PlainLedgerSink(Sink[Any]):
    """The same as writers and committers; committables are transaction names."""

    delivery = Delivery.TRANSACTIONAL

    def __init__(self, ledger: str, refusals: int = 0) -> None:
        self.name = ledger
        self.refusals = refusals

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        return _Writer(LEDGERS[self.name], context.subtask)

    def create_committer(self, context: WriterContext) -> Committer:
        return _Committer(LEDGERS[self.name], self.refusals)


class _Writer(SinkWriter[Any]):
    def __init__(self, ledger: Ledger, subtask: int) -> None:
        self._ledger = ledger
        self._subtask = subtask
        self._values: list[Any] = []

    def write(self, element: Any, timestamp: int | None) -> None:
        self._values.append(element)

    def prepare_commit(self) -> list[Any]:
        if not self._values:
            return []
        name = f"s{self._subtask}-{self._ledger.begun}"
        self._ledger.begun += 1
        self._ledger.prepared[name], self._values = self._values, []
        return [name]


class _Committer(Committer):
    def __init__(self, ledger: Ledger, refusals: int) -> None:
        self._ledger = ledger
        self._refusals = refusals

    def commit(self, committables: list[Any]) -> list[Any]:
        if self._refusals > 0:
            self._refusals -= 1
            return committables
        for name in committables:
            self._ledger.commit(name)
        return []
