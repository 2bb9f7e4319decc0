"""``os._exit`` in a function of the program."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from penstock.execution.spark.control.messages import Failed
from penstock.execution.spark.worker.process_exits import exits_told


def test_in_the_tasks_thread_it_is_an_exception() -> None:
    told: list[Failed] = []
    real = os._exit
    with exits_told(told.append), pytest.raises(SystemExit, match=r"os\._exit\(3\) was called"):
        os._exit(3)
    assert os._exit is real
    assert told == []


def test_in_another_thread_the_driver_is_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Failed] = []
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    with exits_told(told.append):
        thread = threading.Thread(target=lambda: os._exit(4), name="lookup")
        thread.start()
        thread.join()
    assert ended == [4]
    assert "failed in thread 'lookup': os._exit(4) was called" in str(told[0].error)
    assert "test_process_exits.py" in str(told[0].error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system with fork")
def test_a_child_ends_as_it_likes() -> None:
    told: list[Failed] = []
    with exits_told(told.append):
        child = os.fork()
        if child == 0:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert told == []
    assert sys.exc_info() == (None, None, None)
