"""Storage that hangs: it is said what is waited for, and nobody has to wait for ever."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from penstock.execution.spark.driver.storage_thread import StorageThread


class Frozen:
    """A storage thread whose storage answers when the test says so."""

    def __init__(self) -> None:
        self.thawed = threading.Event()
        self.reached = threading.Event()
        self.thread = StorageThread("orders", first_word_seconds=0.05)

    def store(self) -> str:
        self.reached.set()
        self.thawed.wait(60)
        return "stored"


@pytest.fixture
def frozen() -> Iterator[Frozen]:
    made = Frozen()
    yield made
    made.thawed.set()
    assert made.thread.close(30)


def test_things_are_done_in_order_and_give_their_results(frozen: Frozen) -> None:
    frozen.thawed.set()
    done: list[int] = []
    first = frozen.thread.submit("one", lambda: done.append(1))
    second = frozen.thread.submit("two", lambda: done.append(2) or "result")
    assert second.is_done.wait(30)
    assert done == [1, 2]
    assert (first.result(), second.result()) == (None, "result")


def test_an_error_is_that_of_who_asked(frozen: Frozen) -> None:
    def fail() -> None:
        raise OSError("no such bucket")

    pending = frozen.thread.submit("reading", fail)
    assert pending.is_done.wait(30)
    with pytest.raises(OSError, match="no such bucket"):
        pending.result()
    assert frozen.thread.submit("the next thing", lambda: 1).is_done.wait(30)


def test_what_hangs_can_be_asked_for_and_is_said(frozen: Frozen, caplog: pytest.LogCaptureFixture) -> None:
    assert frozen.thread.waiting_for() is None
    with caplog.at_level(logging.WARNING, "penstock.checkpoints"):
        pending = frozen.thread.submit("storing the metadata of checkpoint 7", frozen.store)
        assert frozen.reached.wait(30)
        waiting = frozen.thread.waiting_for()
        assert waiting is not None
        assert waiting[0] == "storing the metadata of checkpoint 7"
        assert not pending.is_done.wait(0.5)
    assert "job 'orders': storing the metadata of checkpoint 7 has taken" in caplog.text
    frozen.thawed.set()
    assert pending.is_done.wait(30)


def test_the_end_waits_no_longer_than_it_may(frozen: Frozen) -> None:
    frozen.thread.submit("storing", frozen.store)
    assert not frozen.thread.close(0.1)
    frozen.thawed.set()
    assert frozen.thread.close(30)
