"""What is remembered of checkpoints: their sizes, their end, and how many there were."""

from __future__ import annotations

from penstock.checkpoint.options import CheckpointOptions
from penstock.operations.checkpoint_history import CheckpointHistory
from penstock.statestore.handles import StoredBytes
from penstock.vocabulary.settings.modes import CheckpointKind


def options(
    timestamp: int, *, kind: CheckpointKind = CheckpointKind.PERIODIC, reusable: int | None = None
) -> CheckpointOptions:
    return CheckpointOptions(kind=kind, timestamp=timestamp, reusable=reusable)


def file(name: str, size: int, *, is_shared: bool = False) -> StoredBytes:
    return StoredBytes(name, size, None, is_shared=is_shared)


def test_a_checkpoint_takes_from_its_trigger_to_its_completion_and_is_as_large_as_its_parts() -> None:
    history = CheckpointHistory(subtasks=2)
    history.begun(1, options(100))
    history.begun(1, options(100))  # a task that finished meanwhile is asked again
    history.acknowledged(1, (1, 0), [file("a", 10), StoredBytes(None, 5, 0, b"12345")], 110)
    history.acknowledged(1, (2, 0), [file("b", 7)], 130)
    assert (history.total, history.in_progress, history.completed) == (1, 1, 0)
    history.done(1, "/c/chk-1", 140)
    found = history.get(1)
    assert found is not None
    assert (found.status, found.path, found.duration, found.state_size) == ("COMPLETED", "/c/chk-1", 40, 22)
    assert found.last_acknowledgement == 130
    assert (history.in_progress, history.completed, history.failed) == (0, 1, 0)
    assert history.latest_completed is found


def test_files_shared_with_an_earlier_checkpoint_are_state_but_were_not_written_again() -> None:
    history = CheckpointHistory(subtasks=1)
    history.begun(1, options(0))
    history.acknowledged(1, (1, 0), [file("../shared/x", 100, is_shared=True)], 1)
    history.done(1, "", 2)
    history.begun(2, options(10, reusable=1))
    history.acknowledged(
        2, (1, 0), [file("../shared/x", 100, is_shared=True), file("../shared/y", 3, is_shared=True)], 11
    )
    second = history.get(2)
    assert second is not None
    assert (second.state_size, second.stored_size) == (103, 3)


def test_a_checkpoint_given_up_has_failed_with_its_reason() -> None:
    history = CheckpointHistory(subtasks=1)
    history.begun(1, options(0))
    history.given_up(1, "it took too long", 50)
    history.deleted(1, 51)
    found = history.get(1)
    assert found is not None
    assert (found.status, found.failure, found.is_discarded) == ("FAILED", "it took too long", True)
    assert (history.failed, history.latest_failed) == (1, found)


def test_one_that_was_under_way_when_the_job_failed_has_failed_and_a_complete_one_is_only_discarded() -> None:
    history = CheckpointHistory(subtasks=1)
    history.begun(1, options(0))
    history.done(1, "/c/chk-1", 1)
    history.begun(2, options(10))
    history.deleted(1, 20)
    history.deleted(2, 20)
    assert [(each.id, each.status, each.is_discarded) for each in history.newest()] == [
        (2, "FAILED", True),
        (1, "COMPLETED", True),
    ]
    assert (history.completed, history.failed) == (1, 1)


def test_savepoints_are_the_latest_of_their_own_kind() -> None:
    history = CheckpointHistory(subtasks=1)
    history.begun(1, options(0))
    history.done(1, "/c/chk-1", 1)
    history.begun(2, options(5, kind=CheckpointKind.SAVEPOINT))
    history.done(2, "/s/savepoint-1", 6)
    assert history.latest_completed is not None
    assert history.latest_savepoint is not None
    assert (history.latest_completed.id, history.latest_savepoint.id) == (1, 2)


def test_the_oldest_are_forgotten_but_counted_and_none_that_is_under_way() -> None:
    history = CheckpointHistory(subtasks=1, kept=2)
    history.begun(1, options(0))
    for number in (2, 3, 4):
        history.begun(number, options(number))
        history.done(number, "", number + 1)
    history.begun(5, options(9))
    assert [each.id for each in history.newest()] == [5, 1]
    assert (history.total, history.completed, history.in_progress) == (5, 3, 2)
