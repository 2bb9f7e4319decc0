"""Savepoints seen from outside: read, compared, edited, made from rows and deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    CheckpointedFunction,
    CheckpointError,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    ProgramError,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from penstock.command_line import main as penstock_main
from penstock.savepoints import Savepoint, SavepointEditor, StateRow, compare_savepoints, delete_savepoint
from penstock.savepoints.terminal import main
from penstock.testing import LocalRun, build_job
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import BACKENDS, timed

TOTAL = ValueStateDescriptor("total")
SEEN = MapStateDescriptor("seen")


@dataclass(frozen=True)
class Reading:
    sensor: str
    level: int


class Totals(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_map_state(SEEN)

    def process_element(self, value: Reading, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value.level)
        self.seen.put(value.level, value)
        ctx.timer_service().register_event_time_timer(1000 + value.level)
        yield value.sensor, self.total.value()


class Names(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("names"))

    def map(self, value: Reading) -> Reading:
        self.state.add(value.sensor)
        return value

    def snapshot_state(self, context: Any) -> None:
        return


READINGS = [Reading("a", 3), Reading("b", 5), Reading("a", 4), Reading("c", 9)]


def job(parallelism: int = 1, backend: str = "heap", uid: str = "totals") -> Any:
    env = environment(parallelism)
    env.set_state_backend(BACKENDS[backend]())
    readings = timed(env, [(each, each.level) for each in READINGS]).uid("source").map(Names()).uid("names")
    keyed = readings.key_by(lambda each: each.sensor)
    windows = keyed.window(TumblingEventTimeWindows.of(100)).reduce(lambda a, b: a).uid("windows")
    collect(keyed.process(Totals()).uid(uid).name("Totals").union(windows))
    return build_job(env)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return taken(tmp_path)


def taken(place: Path, steps: int = 3, backend: str = "heap", parallelism: int = 1) -> str:
    run = LocalRun(job(parallelism, backend))
    for _ in range(steps):
        run.step()
    return run.savepoint(place)


def test_all_state_comes_as_rows(path: str) -> None:
    rows = list(Savepoint.load(path, unpickle=True).rows())
    totals = {row for row in rows if row.state == "total"}
    assert totals == {
        StateRow("totals", "total", "value", "a", None, 7),
        StateRow("totals", "total", "value", "b", None, 5),
    }
    seen = {row.key: row.value for row in rows if row.state == "seen"}
    assert seen == {"a": {3: Reading("a", 3), 4: Reading("a", 4)}, "b": {5: Reading("b", 5)}}
    timers = {(row.key, row.value, row.kind) for row in rows if row.operator == "totals" and row.state == "timers"}
    assert timers == {(key, 1000 + level, "event-time timer") for key, level in [("a", 3), ("a", 4), ("b", 5)]}
    names = [(row.value, row.kind, row.subtask) for row in rows if row.state == "names"]
    assert names == [(name, "operator list", 0) for name in "aba"]
    (position,) = [row.value["positions"] for row in rows if row.operator == "source"]
    assert position == {"split 0": 3}
    windows = [row for row in rows if row.operator == "windows" and row.kind != "event-time timer"]
    assert {(row.key, row.namespace.start, row.namespace.end, row.value) for row in windows} == {
        ("a", 0, 100, Reading("a", 3)),
        ("b", 0, 100, Reading("b", 5)),
    }


def test_one_operator_and_one_state(path: str) -> None:
    savepoint = Savepoint.load(Path(path) / "_metadata")
    assert {row.state for row in savepoint.rows(operator="totals")} == {"total", "seen", "timers"}
    assert {row.key for row in savepoint.rows(operator="totals", state="total")} == {"a", "b"}
    with pytest.raises(CheckpointError, match="no operator 'other'; it has source, names, windows, totals, "):
        list(savepoint.rows(operator="other"))


def test_lines_of_json_that_anybody_can_read(path: str) -> None:
    lines = [json.loads(line) for line in Savepoint.load(path).json_lines(operator="totals", state="seen")]
    assert {"operator": "totals", "state": "seen", "kind": "map", "key": "b", "namespace": None}.items() <= next(
        line for line in lines if line["key"] == "b"
    ).items()
    assert next(line["value"] for line in lines if line["key"] == "b") == [[5, {"sensor": "b", "level": 5}]]
    row = StateRow("o", "s", "value", (1, "x"), None, {"bytes": b"\x00", "set": {1}, "none": None})
    assert json.loads(row.to_json())["value"] == {"bytes": {"base64": "AA=="}, "set": [1], "none": None}
    assert json.loads(row.to_json())["key"] == [1, "x"]


def test_the_operators_with_their_states(path: str) -> None:
    found = {each.operator: each for each in Savepoint.load(path).operators()}
    assert {(each.name, each.kind, each.rows) for each in found["totals"].states} == {
        ("total", "value", 2),
        ("seen", "map", 2),
        ("timers", "event-time timer", 3),
    }
    assert (found["totals"].parallelism, found["totals"].max_parallelism) == (1, 128)
    assert found["totals"].size > 0


def test_a_checkpoint_of_rocksdb_is_read_like_any_other(tmp_path: Path) -> None:
    run = LocalRun(job(2, "rocksdb"))
    for _ in range(3):
        run.step()
    checkpoint = run.checkpoint()
    forms = {
        handle.form for state in checkpoint.metadata.operators["totals"].subtasks.values() for handle in state.keyed
    }
    assert forms == {"rocksdb"}
    savepoint = Savepoint("memory", checkpoint.metadata, checkpoint.files)
    assert {row.key: row.value for row in savepoint.rows(operator="totals", state="total")} == {"a": 7, "b": 5}
    assert len([row for row in savepoint.rows(operator="totals") if row.state == "timers"]) == 3


@pytest.mark.parametrize("parallelism", [1, 3])
def test_an_edited_savepoint_is_what_the_job_goes_on_with(tmp_path: Path, parallelism: int) -> None:
    savepoint = Savepoint.load(taken(tmp_path, parallelism=2), unpickle=True)
    editor = SavepointEditor(savepoint)
    editor.rename_operator("totals", "sums")
    editor.put("sums", "total", key="a", value=100)
    editor.put("sums", "total", key="c", value=1000)
    editor.delete("sums", TOTAL, key="b")
    editor.map("sums", "seen", lambda key, value: None if key == "b" else value)
    editor.drop_operator("windows")
    run = LocalRun(job(parallelism, uid="sums"), restore=editor.write(tmp_path / "edited")).run()
    assert ("c", 1009) in run.collected["out"]
    changes = compare_savepoints(savepoint, Savepoint.load(editor.write(tmp_path / "again")))
    assert {each.change for each in changes if each.operator == "windows"} == {"removed"}


def test_what_is_different(tmp_path: Path) -> None:
    before, after = Savepoint.load(taken(tmp_path, 2)), Savepoint.load(taken(tmp_path, 4))
    found = [each for each in compare_savepoints(before, after) if each.operator == "totals" and each.state == "total"]
    assert [(each.change, each.key, each.before, each.after) for each in found] == [
        ("changed", "a", 3, 7),
        ("added", "c", None, 9),
    ]
    assert list(compare_savepoints(before, before)) == []


def test_a_savepoint_from_nothing_bootstraps_a_job(tmp_path: Path) -> None:
    editor = SavepointEditor()
    editor.add_operator("totals")
    for key in "abcd":
        editor.put("totals", TOTAL, key=key, value=500)
        editor.add_timer("totals", key=key, timestamp=2000)
    editor.put("totals", SEEN, key="a", value={1: Reading("a", 1)})
    editor.add_operator("names")
    editor.set_operator_state("names", "names", ["x", "y", "z"])
    path = editor.write(f"file://{tmp_path}")
    run = LocalRun(job(3), restore=path)
    run.open()
    names = [row.value for row in Savepoint.load(run.savepoint(tmp_path)).rows(operator="names")]
    assert sorted(names) == ["x", "y", "z"]
    run.run()
    assert {each for each in run.collected["out"] if isinstance(each, tuple)} == {
        ("a", 503),
        ("b", 505),
        ("a", 507),
        ("c", 509),
    }


def test_mistakes_are_explained(tmp_path: Path, path: str) -> None:
    editor = SavepointEditor(Savepoint.load(path, unpickle=True))
    with pytest.raises(ProgramError, match="There is no operator 'x', only source, names, windows, totals, "):
        editor.drop_operator("x")
    with pytest.raises(ProgramError, match=r"has no state 'new' yet: give its descriptor"):
        editor.put("totals", "new", key=1, value=1)
    with pytest.raises(ProgramError, match="'total' of 'totals' is described by a ValueStateDescriptor"):
        editor.put("totals", ListStateDescriptor("total"), key=1, value=[1])
    with pytest.raises(ProgramError, match="'names' already; drop it first"):
        editor.rename_operator("totals", "names")
    with pytest.raises(CheckpointError, match="Nothing was removed"):
        delete_savepoint(tmp_path)
    assert tmp_path.exists()


def test_the_command_line(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", path]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].startswith("savepoint 1 of job ")
    assert any(line.startswith("totals: 'Totals', parallelism 1 of at most 128, ") for line in listed)
    assert "    total (value): 2" in listed
    assert main(["show", path, "--operator", "totals", "--state", "total", "--limit", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["state"] == "total"
    other = taken(tmp_path, 4)
    assert main(["diff", path, other]) == 0
    assert '+ totals total "c": 9' in capsys.readouterr().out.splitlines()
    assert main(["delete", other]) == 0
    assert not Path(other).exists()
    assert main(["list", other]) == 1
    assert "There is no checkpoint or savepoint at" in capsys.readouterr().err
    assert penstock_main(["savepoint", "-d", path]) == 0
    assert not Path(path).exists()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "diff" in capsys.readouterr().out
