"""What was ever stored is restored for ever: kept snapshots go on where they were taken, kept values come back."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from penstock.foundation.stored_names import STORED_NAMES, stored_object
from penstock.savepoints import Savepoint
from penstock.statestore.inert_values import InertClasses, OpaqueValue
from penstock.statestore.value_codec import load_value
from penstock.testing import LocalCheckpoint, LocalRun
from tests.unit.golden.archive import FILES, STEPS, new_run, unpacked
from tests.unit.golden.programs import WORLD
from tests.unit.golden.values import VALUES, described

ARCHIVES = sorted(FILES.glob("*/*.zip"))
KEPT_VALUES = sorted(FILES.glob("*/values/*.bin"))


def _name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def _seen(run: LocalRun) -> list[str]:
    seen = [*map(str, run.collected.get("out", [])), *map(str, WORLD.seen)]
    return sorted(seen)


@cache
def _whole(program: str, parallelism: int) -> tuple[list[str], list[str]]:
    """What comes out before a snapshot is taken, and altogether."""
    WORLD.__init__()  # type: ignore[misc] # functions find it by its name
    run = new_run(program, "heap", parallelism=parallelism)
    for _ in range(STEPS):
        run.step()
    before = _seen(run)
    run.run()
    return before, _seen(run)


@pytest.mark.parametrize("backend", ["same", "other"])
@pytest.mark.parametrize("archive", ARCHIVES, ids=_name)
def test_a_job_goes_on_from_every_kept_snapshot(archive: Path, backend: str, tmp_path: Path) -> None:
    program, form, written_by = archive.stem.split("-")
    if backend == "other" and form != "savepoint":
        pytest.skip("a checkpoint is for the backend that wrote it")
    reader = written_by if backend == "same" else {"heap": "rocksdb", "rocksdb": "heap"}[written_by]
    parallelism = 2 if form == "unaligned" else 1
    before, wanted = _whole(program, parallelism)
    before = [] if form == "unaligned" else before  # taken before anything came out
    WORLD.__init__()  # type: ignore[misc]
    checkpoint = LocalCheckpoint.load(unpacked(archive, tmp_path))
    restored = new_run(program, reader, checkpoint, parallelism).run()
    assert _normal(sorted([*before, *_seen(restored)])) == _normal(wanted)


def _normal(lines: list[str]) -> list[str]:
    """Lines of sinks without the way in which they were committed: after a restart, transactions are recovered."""
    return sorted(re.sub("^recovered", "committed", line) for line in lines)


def test_all_forms_are_kept_of_both_backends() -> None:
    kept = {tuple(archive.stem.split("-")) for archive in ARCHIVES}
    wanted = {(program, form) for program in ("states", "windows", "sinks") for form in ("savepoint", "checkpoint")}
    assert kept == {
        (*each, backend) for each in wanted | {("exchange", "unaligned")} for backend in ("heap", "rocksdb")
    }


@pytest.mark.parametrize("file", KEPT_VALUES, ids=_name)
def test_every_kept_value_comes_back(file: Path) -> None:
    assert described(load_value(file.read_bytes())) == described(VALUES[file.stem])


@pytest.mark.parametrize("file", KEPT_VALUES, ids=_name)
def test_values_of_penstock_are_read_without_unpickling_too(file: Path) -> None:
    if file.stem in STORED_NAMES:
        assert described(load_value(file.read_bytes(), InertClasses())) == described(VALUES[file.stem])
    else:
        assert isinstance(load_value(file.read_bytes(), InertClasses()), OpaqueValue)


def test_a_value_of_every_stored_name_is_kept() -> None:
    assert {file.stem for file in KEPT_VALUES} >= set(STORED_NAMES)


def test_every_stored_name_has_a_home() -> None:
    for name, entry in STORED_NAMES.items():
        assert callable(stored_object(name)), name
        for former in entry.former:
            assert stored_object(former) is stored_object(name)


@pytest.mark.parametrize("path", [*ARCHIVES, *KEPT_VALUES], ids=_name)
def test_no_module_of_penstock_is_named_in_what_is_stored(path: Path, tmp_path: Path) -> None:
    files = sorted(unpacked(path, tmp_path).iterdir()) if path.suffix == ".zip" else [path]
    for file in files:
        found = re.findall(rb"penstock\.[a-z_]+(?:\.[a-z_]+)*", file.read_bytes())
        assert found == [], f"{file.name} names {found}"


def test_what_a_kept_savepoint_holds(tmp_path: Path) -> None:
    """Read without the program: what the first five records leave, worked out by hand."""
    savepoint = Savepoint.load(unpacked(FILES / "1" / "states-savepoint-heap.zip", tmp_path))
    rows = list(savepoint.rows(operator="states"))
    totals = {(row.key.country, row.key.number): row.value for row in rows if row.state == "value"}
    assert totals == {("de", 1): 7, ("fr", 1): 7, ("de", 2): 9}
    timers = {(row.kind, row.value) for row in rows if row.state == "timers"}
    assert timers == {
        *(("event-time timer", 500 + price) for price in (3, 5, 4, 9, 2)),
        *(("processing-time timer", 3_600_000 + price) for price in (3, 5, 4, 9, 2)),
    }
    names = [row.value.name for row in savepoint.rows(operator="lists") if row.state == "names"]
    assert names == ["pen", "ink", "ink", "cup", "pen"]


def test_a_module_that_moves_changes_no_stored_byte(tmp_path: Path) -> None:
    """Moves modules of Penstock in a copy of it, and restores there what was stored before."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.golden.moving", str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["moved", "restored", "unchanged"], done.stdout
