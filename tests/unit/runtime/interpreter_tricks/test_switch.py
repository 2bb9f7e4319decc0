"""All tricks are off where the variable says so, under a debugger and where their trial fails; results are the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.command_line import main
from penstock.runtime.interpreter_tricks import switch
from penstock.runtime.interpreter_tricks.harmless_functions import can_only_compute
from penstock.runtime.interpreter_tricks.last_yield import returning
from penstock.runtime.interpreter_tricks.own_attributes import give_own_attributes
from penstock.runtime.interpreter_tricks.parts_taken import simplified, simplified_extractor
from tests.unit.local_jobs import environment, results

PROGRAM = """
import json, sys
if "trace" in sys.argv:
    sys.settrace(lambda *_: None)
from penstock.runtime.interpreter_tricks.handover import counts_references
from penstock.runtime.interpreter_tricks.switch import TRICKS
from tests.unit.runtime.interpreter_tricks.test_switch import collected, tricks_used
in_use = [trick.name for trick in TRICKS if trick.is_in_use()]
print(json.dumps([tricks_used(), in_use, counts_references, collected()]))
"""


class Assigner:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return value[0]


class Held:
    def __init__(self, held: Any = None) -> None:
        self.held = held


def yields(value: int) -> Iterator[int]:
    yield value


def by_field(record: Any) -> Any:
    return record[0]


def tricks_used() -> list[str]:
    """Return which of the tricks do something."""
    holder = Held(Held())
    before = id(vars(holder.held))
    give_own_attributes(holder)
    found = {
        "returning": returning(yields) is not yields,
        "computing": can_only_compute(by_field),
        "simplified": simplified(by_field) is not by_field,
        "extractor": simplified_extractor(Assigner().extract_timestamp) is not None,
        "attributes": id(vars(holder.held)) != before,
    }
    return [name for name, is_used in found.items() if is_used]


def collected() -> Any:
    """Return the results of a job that meets all of them."""
    shared: list[Any] = []

    def changing(record: Any) -> list[Any]:
        shared.append(record[1])
        return shared

    env = environment()
    records = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).map(lambda record: (record[0], record[1] * 2))
    return results(records.flat_map(lambda record: [record]).key_by(by_field).map(changing))


def run(**options: Any) -> Any:
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, *options.get("arguments", [])],
        env=os.environ | options.get("environment", {}), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(said.stdout)


EXPECTED = [[2], [2, 4], [2, 4, 6]]
"""What the function returned for each record, at that moment."""


def test_the_variable_turns_all_of_them_off_and_the_results_stay_the_same() -> None:
    assert run(environment={switch.VARIABLE: "off"}) == [[], [], False, EXPECTED]


def test_a_debugger_at_the_start_turns_all_of_them_off() -> None:
    assert run(arguments=["trace"]) == [[], [], False, EXPECTED]


def test_they_are_in_use_otherwise() -> None:
    helps = ["attributes"] if sys.version_info < (3, 13) else []
    assert tricks_used() == ["returning", "computing", "simplified", "extractor", *helps]
    assert collected() == EXPECTED


def test_a_debugger_of_this_thread_or_of_those_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert "debugger" in switch.why_off()
    assert tricks_used() == []
    monkeypatch.undo()
    monkeypatch.setattr(threading, "gettrace", lambda: print)
    assert tricks_used() == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
@pytest.mark.parametrize("tool", ["DEBUGGER_ID", "COVERAGE_ID"])
def test_tools_that_monitor(tool: str) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    number = getattr(monitoring, tool)
    monitoring.use_tool_id(number, "test")
    try:
        assert tricks_used() == []
    finally:
        monitoring.free_tool_id(number)


def test_another_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "implementation", type("Other", (), {"name": "pypy"}))
    assert switch.why_off() == "the interpreter is pypy"


def failing() -> bool:
    message = "an opcode that is not there"
    raise KeyError(message)


@pytest.mark.parametrize("trial", [lambda: False, failing])
def test_a_trick_whose_trial_fails_is_not_used(trial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "TRICKS", [])
    assert not switch.Trick("one", trial).is_in_use()
    assert switch.Trick("other", lambda: True).is_in_use()


def test_doctor_says_whether_they_are_in_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["doctor"])
    assert "ok      Interpreter tricks: in use" in capsys.readouterr().out
    monkeypatch.setenv(switch.VARIABLE, "off")
    main(["doctor"])
    assert "Interpreter tricks: not in use: PENSTOCK_INTERPRETER_TRICKS=off" in capsys.readouterr().out
