"""Brokers that do not answer: said, bounded, and tried with another client."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.connectors.kafka.broker_wait import RENEW_SECONDS, BrokerWait, SilentBrokersError
from penstock.connectors.kafka.committer import KafkaCommitter
from penstock.connectors.kafka.message_run import MessageRun
from penstock.connectors.kafka.transactional_writer import PendingTransactions, TransactionalWriter
from penstock.foundation import clock


class Seconds:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    made = Seconds()
    monkeypatch.setattr(BrokerWait.__init__, "__defaults__", (made,))
    assert clock.monotonic_seconds is not made
    return made


def test_a_wait_is_said_now_and_then_and_has_an_end(seconds: Seconds, caplog: pytest.LogCaptureFixture) -> None:
    wait = BrokerWait("the commit of 'a-0-1'", 100)
    with caplog.at_level(logging.WARNING, "penstock.connectors.kafka"):
        for _ in range(99):
            seconds.now += 1
            wait.again()
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"waiting for the Kafka brokers for {n} s: the commit of 'a-0-1': no answer" for n in (10, 20, 40, 80)
    ]
    seconds.now += 1
    with pytest.raises(SilentBrokersError, match=r"not answered for 100 s: the commit of 'a-0-1': no answer\."):
        wait.again()


class Client:
    """A producer that notes what it is asked; one that is deaf gets no answers any more."""

    made: list[Client]
    deaf: int

    def __init__(self, settings: Any, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.is_deaf = len(Client.made) < Client.deaf
        self.calls: list[Any] = []
        Client.made.append(self)

    def begin(self) -> None:
        self.calls.append("begin")

    def send(self, run: Any) -> None:
        self.calls.append(list(run.values))

    def flush(self) -> None:
        self.calls.append("flush")

    def mark(self, *mark: Any) -> None:
        if self.is_deaf:
            message = "no answer"
            raise SilentBrokersError(message)
        self.calls.append("mark")

    def commit(self) -> bool:
        self.calls.append("commit")
        return not self.is_deaf


@pytest.fixture(autouse=True)
def clients() -> list[Client]:
    Client.made, Client.deaf = [], 1
    return Client.made


def test_a_writer_writes_its_transaction_again_with_another_client(clients: list[Client]) -> None:
    """The other one has the same id, so the brokers end what the first one has left open."""
    writer = TransactionalWriter.__new__(TransactionalWriter)
    run = MessageRun("topic", [b"one", b"two"])
    vars(writer).update(
        _settings={}, _producer_class=Client, _pending=PendingTransactions(), _patience=60.0, _runs=[run],
        _topic="topic", _lineage="lineage", _sequence=7, _current=Client({}, "a-0-1"),
    )  # fmt: skip
    (committable,) = writer.prepare_commit()
    first, second = clients
    assert second.transactional_id == first.transactional_id == committable.transactional_id == "a-0-1"
    assert second.calls == ["begin", [b"one", b"two"], "flush", "mark"]
    assert writer._pending.get(committable) is second


def test_a_writer_gives_up_when_the_job_does(seconds: Seconds) -> None:
    Client.deaf = 1000
    writer = TransactionalWriter.__new__(TransactionalWriter)

    class Slow(Client):
        def mark(self, *mark: Any) -> None:
            seconds.now += RENEW_SECONDS
            super().mark(*mark)

    vars(writer).update(
        _settings={}, _producer_class=Slow, _pending=PendingTransactions(), _patience=100.0, _runs=[],
        _topic="topic", _lineage="lineage", _sequence=7, _current=Slow({}, "a-0-1"),
    )  # fmt: skip
    with pytest.raises(SilentBrokersError, match=r"not answered for 120 s: the transaction 'a-0-1'"):
        writer.prepare_commit()


def test_a_commit_that_is_not_answered_is_left_to_another_client(
    seconds: Seconds, clients: list[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    pending = PendingTransactions()
    committable: Any = SimpleNamespace(
        transactional_id="a-0-1", sequence=1, topic="topic", lineage="l", runs=[MessageRun("topic", [b"one"])]
    )
    pending.add(committable, Client({}, "a-0-1"))  # type: ignore[arg-type]
    committer = KafkaCommitter({}, pending, Client)  # type: ignore[arg-type]
    monkeypatch.setattr(committer, "_was_committed", lambda *_, **__: False)
    assert committer.commit([committable]) == [committable]
    seconds.now += RENEW_SECONDS - 1
    assert committer.commit([committable]) == [committable]
    assert len(clients) == 1
    seconds.now += 1
    assert committer.commit([committable]) == []
    assert clients[1].calls == ["begin", [b"one"], "flush", "mark", "commit"]
