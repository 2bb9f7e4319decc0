"""Several jobs start from one savepoint and write to one directory: none disturbs another, nothing is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from penstock import (
    BucketAssigner,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
    WatermarkStrategy,
)
from penstock.connectors.files.sink.committer import PartCommitter
from penstock.connectors.files.sink.part_storage import ArrowPartStorage, LocalPartStorage
from penstock.connectors.files.sink.state import PendingPart
from penstock.testing.local_checkpoints import LocalCheckpoint
from penstock.testing.local_run import LocalRun
from tests.unit.connectors.file_sink.file_sink_run import finished, names
from tests.unit.local_jobs import environment
from tests.unit.sinks.lives import OneByOne

BEFORE = list("abcde")
"""Three of them fill a file; two are in an open one when the savepoint is taken."""


def run_of(
    base: Path,
    values: list[str],
    *,
    restore: LocalCheckpoint | str | None = None,
    parallelism: int = 1,
    compacts: bool = False,
) -> LocalRun:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    builder = (
        FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(6, 1 << 40, 1 << 40))
    )
    if compacts:
        strategy = FileCompactStrategy.builder().set_size_threshold(1000).build()
        builder = builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    stream = env.from_source(OneByOne(values), WatermarkStrategy.no_watermarks(), "values").uid("values")
    stream.rebalance().sink_to(builder.build()).set_parallelism(parallelism).uid("files")
    return LocalRun(env._build_job(None), restore=restore)


def savepoint(place: Path, *, stop: bool = True, compacts: bool = False) -> tuple[str, LocalRun]:
    """The savepoint of a job that has written BEFORE, and the job."""
    run = run_of(place / "out", [*BEFORE, "X", "X"], compacts=compacts)
    for _ in BEFORE:
        run.step()
    path = run.savepoint(place / "savepoints", stop=stop)
    if stop:
        run.close()
    return path, run


def lines(base: Path) -> Counter[str]:
    return Counter(line for text in finished(base).values() for line in text.splitlines())


def left_behind(base: Path) -> list[str]:
    return [name for name in names(base) if name.startswith(".")]


def added(*letters: str) -> list[str]:
    return [*BEFORE, *(f"{letter}{number}" for letter in letters for number in range(5))]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("order", ["one after the other", "step by step", "the second first"])
def test_two_jobs_from_one_savepoint(tmp_path: Path, order: str, compacts: bool, parallelism: int) -> None:
    out = tmp_path / "out"
    path, _ = savepoint(tmp_path, compacts=compacts)
    settings: dict[str, Any] = {"restore": path, "compacts": compacts, "parallelism": parallelism}
    first, second = run_of(out, added("m"), **settings), run_of(out, added("n"), **settings)
    if order == "one after the other":
        first.run()
    elif order == "the second first":
        first.step()
        first.checkpoint()
    else:
        for number in range(7):
            for run in (first, second):
                run.step()
                if number % 3 == 1 and not run.is_finished:
                    run.checkpoint()
    second.run()
    if order != "one after the other":
        first.run()
    assert lines(out) == Counter(added("m", "n")), "what the savepoint holds once, and all that each job has added"
    assert left_behind(out) == []


def test_one_job_alone_goes_on_in_the_open_file_under_its_name(tmp_path: Path) -> None:
    path, _ = savepoint(tmp_path)
    run_of(tmp_path / "out", [*BEFORE, "f", "g"], restore=path).run()
    assert finished(tmp_path / "out") == {"part-0-0": "a\nb\nc\n", "part-0-1": "d\ne\nf\n", "part-0-2": "g\n"}


def test_the_job_that_took_the_savepoint_goes_on_beside_those_that_start_from_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path, run = savepoint(tmp_path, stop=False)
    first = run_of(out, added("m"), restore=path)
    first.step()
    first.checkpoint()
    run.run()
    first.run()
    run_of(out, added("n"), restore=path).run()
    # What was in its open file it writes itself, and one of the others has written it too.
    assert lines(out) == Counter([*added("m", "n"), "d", "e", "X", "X"])
    assert left_behind(out) == []


def test_a_fork_that_is_restored_from_its_own_checkpoint_is_still_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path, _ = savepoint(tmp_path)
    first = run_of(out, added("m"), restore=path)
    second = run_of(out, added("n"), restore=path)
    for run in (first, second):
        run.open()
        run.checkpoint()
        run.step()
        run.step()
        run.close()
    # Both have an open file that begins with what the savepoint holds, and files that no checkpoint knows.
    run_of(out, added("n"), restore=second.checkpoints.complete[-1]).run()
    run_of(out, added("m"), restore=first.checkpoints.complete[-1]).run()
    assert lines(out) == Counter(added("m", "n"))
    assert left_behind(out) == []


def test_what_neither_waits_nor_is_finished_is_lost_and_said_so(tmp_path: Path) -> None:
    path, _ = savepoint(tmp_path)
    for hidden in (tmp_path / "out").glob(".*"):
        hidden.unlink()
    with pytest.raises(Exception, match="was unfinished when the savepoint was taken, with 4 bytes"):
        run_of(tmp_path / "out", BEFORE, restore=path).open()


def _part(place: Path, content: str, shared: int) -> PendingPart:
    hidden = place / ".part-0-0.inprogress.id"
    hidden.write_text(content)
    return PendingPart("", str(hidden), str(place / "part-0-0"), len(content), (), str(place / "part-0-0-id"), shared)


@pytest.mark.parametrize("crash_after", ["", "delete", "move", "begin"])
def test_a_file_that_moves_aside_leaves_out_what_is_there_already_also_after_a_crash(
    tmp_path: Path, crash_after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part-0-0").write_text("ab123")
    part = _part(tmp_path, "abcd", 2)
    if crash_after:
        original = getattr(LocalPartStorage, crash_after)

        def crash(self: Any, *arguments: Any) -> None:
            original(self, *arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(LocalPartStorage, crash_after, crash)
            with pytest.raises(KeyboardInterrupt):
                PartCommitter(LocalPartStorage()).commit([part])
    for _ in range(2):
        PartCommitter(LocalPartStorage()).recover([part])
        found = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert found == {"part-0-0": "ab123", "part-0-0-id": "cd"}


@pytest.mark.parametrize(
    ("taken", "shared", "expected"),
    [
        # Somebody else's file, which does not begin as this one does.
        ("ab", 4, {"part-0-0": "ab", "part-0-0-id": "abcd"}),
        ("abcdef", 4, {"part-0-0": "abcdef"}),
        # Another job has written the same: both are seen.
        ("abcd", 0, {"part-0-0": "abcd", "part-0-0-id": "abcd"}),
    ],
)
def test_what_a_name_that_is_taken_leads_to(tmp_path: Path, taken: str, shared: int, expected: dict[str, str]) -> None:
    (tmp_path / "part-0-0").write_text(taken)
    PartCommitter(LocalPartStorage()).commit([_part(tmp_path, "abcd", shared)])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == expected


def test_a_name_that_is_taken_at_the_last_moment_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("1")
    (tmp_path / "taken").write_text("2")
    with pytest.raises(FileExistsError):
        LocalPartStorage().move(str(tmp_path / "mine"), str(tmp_path / "taken"))
    assert (tmp_path / "taken").read_text() == "2"


def test_object_stores_get_names_that_nobody_else_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def storage(location: str) -> tuple[ArrowPartStorage, str]:
        return ArrowPartStorage(fs.LocalFileSystem(), has_rename=False), location

    monkeypatch.setattr("penstock.connectors.files.sink.part_storage.part_storage", storage)
    out = tmp_path / "out"
    path, _ = savepoint(tmp_path)
    for _ in range(2):  # with the same records: the names must not be the same
        run_of(out, added("m"), restore=path).run()
    assert lines(out) == Counter([*BEFORE, *(2 * added("m")[5:])])
    assert left_behind(out) == []
