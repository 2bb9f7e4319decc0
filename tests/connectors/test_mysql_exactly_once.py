"""Rows in XA transactions: seen once, with their checkpoint, and nothing is left behind by those who failed."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from penstock.connectors.mysql import MySqlSink, MySqlSinkBuilder
from penstock.connectors.mysql.xa_session import XaSession
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sinks.protocol import Committer, DeliveryGuarantee, SinkWriter
from tests.connectors.writer_context import Surroundings
from tests.servers.mariadb import Database

TABLE = "CREATE TABLE t_test (id BIGINT AUTO_INCREMENT PRIMARY KEY, value INT, insert_time DATETIME)"


Snapshot = list[tuple[list[Any], list[Any]]]
"""The states and committables of each subtask."""


class Run:
    """The writers and committers of a sink, driven as the engine drives them."""

    def __init__(self, sink: MySqlSink, *, parallelism: int = 1, restored: Snapshot | None = None) -> None:
        surroundings = Surroundings()
        self.waiting: list[list[Any]] = []
        self.writers: list[SinkWriter[Any]] = []
        self.committers: list[Committer] = []
        for subtask in range(parallelism):
            context = surroundings.context(subtask, parallelism)
            committer = sink.create_committer(context)
            assert committer is not None
            self.committers.append(committer)
            former = [items for owner, (_, items) in enumerate(restored or []) if owner % parallelism == subtask]
            self.waiting.append(committer.recover([item for items in former for item in items]))
            if restored is None:
                self.writers.append(sink.create_writer(context))
            else:
                self.writers.append(sink.restore_writer(context, [state for states, _ in restored for state in states]))

    def write(self, *values: int, subtask: int = 0) -> None:
        self.writers[subtask].write_run(list(values), None)

    def prepare(self) -> Snapshot:
        """Take a snapshot, which is not complete yet."""
        snapshot = []
        for writer, waiting in zip(self.writers, self.waiting, strict=True):
            writer.flush(end_of_input=False)
            waiting += writer.prepare_commit()
            snapshot.append((writer.snapshot_state(1), list(waiting)))
        return pickle.loads(pickle.dumps(snapshot))

    def complete(self) -> None:
        """Commit all that is prepared."""
        for subtask, committer in enumerate(self.committers):
            self.waiting[subtask] = committer.commit(self.waiting[subtask])

    def checkpoint(self) -> Snapshot:
        snapshot = self.prepare()
        self.complete()
        return snapshot

    def close(self) -> None:
        for part in (*self.writers, *self.committers):
            part.close()


@pytest.fixture
def database(mariadb: Database) -> Iterator[Database]:
    mariadb.execute(TABLE)
    yield mariadb
    assert mariadb.prepared() == [], "no branch is left behind"


def exactly_once(database: Database, **options: Any) -> MySqlSinkBuilder:
    return (
        MySqlSink.builder()
        .set_url(database.url, **{"retry_backoff": 0, **options})
        .set_statement("INSERT INTO t_test (value, insert_time) VALUES (?, NOW())")
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    )


def values(database: Database) -> list[int]:
    return [value for (value,) in database.rows("SELECT value FROM t_test ORDER BY id")]


def test_rows_are_seen_when_their_checkpoint_is_complete(database: Database) -> None:
    run = Run(exactly_once(database).set_batch_size(2).build())
    run.write(1, 2, 3)
    assert values(database) == []
    run.prepare()
    assert values(database) == []
    run.write(4)
    run.complete()
    assert values(database) == [1, 2, 3]
    run.checkpoint()
    assert values(database) == [1, 2, 3, 4]
    run.close()


def test_a_checkpoint_without_rows_makes_no_transaction(database: Database) -> None:
    run = Run(exactly_once(database).build())
    assert run.prepare() == [(run.writers[0].snapshot_state(1), [])]
    assert database.prepared() == []
    run.close()


def test_a_transaction_that_changes_nothing_is_none(database: Database) -> None:
    sink = exactly_once(database).build()
    update = MySqlSink.builder().set_url(database.url).set_statement("UPDATE t_test SET value = 5 WHERE id = ?")
    run = Run(update.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build())
    run.write(77)
    assert run.prepare()[0][1] == []
    run.close()
    run = Run(sink)
    run.write(1)
    run.checkpoint()
    assert values(database) == [1]
    run.close()


def test_rows_that_are_in_no_checkpoint_are_gone_with_their_writer(database: Database) -> None:
    sink = exactly_once(database).set_batch_size(1).build()
    first = Run(sink)
    first.write(1)
    checkpoint = first.checkpoint()
    first.write(2)
    first.prepare()
    first.write(3)
    first.close()
    assert len(database.prepared()) == 1, "of the second checkpoint, which never was complete"
    second = Run(sink, restored=checkpoint)
    assert database.prepared() == []
    second.write(2, 3)
    second.checkpoint()
    assert values(database) == [1, 2, 3]
    second.close()


def test_a_crash_before_the_commit_commits_on_recovery(database: Database) -> None:
    sink = exactly_once(database).build()
    first = Run(sink)
    first.write(1, 2)
    checkpoint = first.prepare()
    first.close()
    assert values(database) == []
    Run(sink, restored=checkpoint).close()
    assert values(database) == [1, 2]


def test_a_commit_is_repeatable(database: Database) -> None:
    sink = exactly_once(database).build()
    first = Run(sink)
    first.write(1, 2)
    checkpoint = first.checkpoint()
    first.close()
    for _ in range(2):
        again = Run(sink, restored=checkpoint)
        assert again.waiting == [[]]
        again.close()
    assert values(database) == [1, 2]


def test_a_start_without_a_checkpoint_drops_what_the_last_run_prepared(database: Database) -> None:
    sink = exactly_once(database).build()
    first = Run(sink)
    first.write(1)
    first.prepare()
    first.close()
    Run(sink).close()
    assert values(database) == []


@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (4, 2)])
def test_another_parallelism_finishes_what_former_subtasks_began(database: Database, before: int, after: int) -> None:
    sink = exactly_once(database).build()
    first = Run(sink, parallelism=before)
    for subtask in range(before):
        first.write(10 + subtask, subtask=subtask)
    checkpoint = first.prepare()
    for subtask in range(before):
        first.write(20 + subtask, subtask=subtask)
    first.prepare()
    first.close()
    assert len(database.prepared()) == 2 * before
    second = Run(sink, parallelism=after, restored=checkpoint)
    assert sorted(values(database)) == [10 + subtask for subtask in range(before)]
    assert database.prepared() == []
    second.write(99, subtask=after - 1)
    second.checkpoint()
    assert sorted(values(database)) == [*(10 + subtask for subtask in range(before)), 99]
    second.close()


def test_a_checkpoint_that_was_given_up_goes_with_the_next(database: Database) -> None:
    run = Run(exactly_once(database).build())
    run.write(1)
    run.prepare()
    run.write(2)
    run.prepare()
    run.complete()
    assert values(database) == [1, 2]
    run.close()


def test_other_sinks_and_other_programs_are_left_alone(database: Database) -> None:
    database.execute(
        "XA START 'theirs'", "INSERT INTO t_test (value) VALUES (7)", "XA END 'theirs'", "XA PREPARE 'theirs'"
    )
    first = Run(exactly_once(database).set_transaction_prefix("one").build())
    first.write(1)
    checkpoint = first.prepare()
    other = Run(exactly_once(database).set_transaction_prefix("another").build())
    other.close()
    first.complete()
    assert values(database) == [1]
    Run(exactly_once(database).set_transaction_prefix("one").build(), restored=checkpoint).close()
    assert database.prepared() == ["theirs"]
    database.execute("XA ROLLBACK 'theirs'")
    first.close()


def test_a_process_that_should_be_gone_is_cut_off(database: Database) -> None:
    sink = exactly_once(database, retries=0).set_batch_size(1).build()
    zombie = Run(sink)
    zombie.write(1)
    checkpoint = zombie.checkpoint()
    zombie.write(2)
    successor = Run(sink, restored=checkpoint)
    with pytest.raises(ExternalSystemError):
        zombie.write(3)
    successor.write(2, 3)
    successor.checkpoint()
    assert values(database) == [1, 2, 3]
    successor.close()
    zombie.close()


def test_a_branch_of_a_connection_that_has_not_ended_is_tried_again(database: Database) -> None:
    sink = exactly_once(database).build()
    run = Run(sink)
    run.write(1)
    session = run.writers[0]._session  # type: ignore[attr-defined]
    close, session.close = session.close, lambda: None
    run.prepare()
    run.complete()
    assert values(database) == [], "the server has not let go of it"
    assert len(run.waiting[0]) == 1
    close()
    run.complete()
    assert values(database) == [1]
    session.close = close
    run.close()


def test_commits_that_meet_an_outage_are_tried_again_in_order(database: Database) -> None:
    run = Run(exactly_once(database, retries=0).build())
    run.write(1)
    run.prepare()
    run.write(2)
    run.prepare()
    database.server.kill()
    prepared = list(run.waiting[0])
    run.complete()
    assert run.waiting == [prepared]
    database.server.start()
    run.complete()
    assert run.waiting == [[]]
    assert values(database) == [1, 2]
    run.close()


def test_recovery_that_meets_an_outage_keeps_what_is_to_be_committed(database: Database) -> None:
    sink = exactly_once(database, retries=0).build()
    first = Run(sink)
    first.write(1)
    checkpoint = first.prepare()
    first.close()
    database.server.kill()
    committer = sink.create_committer(Surroundings().context())
    assert committer is not None
    left = committer.recover(checkpoint[0][1])
    assert left == checkpoint[0][1]
    database.server.start()
    writer = sink.restore_writer(Surroundings().context(), checkpoint[0][0])
    assert len(database.prepared()) == 1, "it is of the checkpoint: nobody rolls it back"
    assert committer.commit(left) == []
    assert values(database) == [1]
    writer.close()
    committer.close()


def test_a_lost_connection_fails_the_open_transaction_as_a_whole(database: Database) -> None:
    sink = exactly_once(database).set_batch_size(1).build()
    run = Run(sink)
    run.write(1)
    database.disconnect_all()
    with pytest.raises(ExternalSystemError, match="INSERT INTO t_test"):
        run.write(2)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whichever: it must not go on outside of the transaction
        run.prepare()
    run.close()
    assert values(database) == []


def test_a_new_transaction_waits_for_a_server_that_comes_back(database: Database) -> None:
    run = Run(exactly_once(database, retries=30, retry_backoff=50).set_batch_size(1).build())
    run.write(1)
    run.checkpoint()
    database.server.kill()
    back = threading.Timer(0.5, database.server.start)
    back.start()
    run.write(2)
    back.join()
    run.checkpoint()
    assert values(database) == [1, 2]
    run.close()


def test_a_transaction_that_somebody_rolled_back_is_not_passed_over(database: Database) -> None:
    run = Run(exactly_once(database).build())
    run.write(1)
    run.prepare()
    database.roll_back_prepared()
    with pytest.raises(ExternalSystemError, match="gone before it was committed"):
        run.complete()
    run.close()


def test_rows_under_their_key_do_not_wait_for_the_transaction_before(mariadb: Database) -> None:
    mariadb.execute("CREATE TABLE counts (word VARCHAR(50) PRIMARY KEY, total INT)")
    sink = (
        MySqlSink.builder()
        .set_url(mariadb.url, retry_backoff=0)
        .set_table("counts", "word", "total")
        .set_key_columns("word")
        .set_batch_size(1)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .build()
    )
    run = Run(sink)
    run.writers[0].write(("a", 1), None)
    run.prepare()
    run.writers[0].write(("a", 2), None)
    run.writers[0].write(("b", 1), None)
    run.complete()
    assert mariadb.rows("SELECT * FROM counts") == [("a", 1)]
    run.checkpoint()
    assert mariadb.rows("SELECT * FROM counts ORDER BY word") == [("a", 2), ("b", 1)]
    assert mariadb.prepared() == []
    run.close()


class FailingSession(XaSession):
    """Fails before or after one of its steps, once."""

    step = ""
    is_after = False
    fuse: ClassVar = [False]

    def _guarded(self, step: str, *arguments: Any) -> Any:
        is_it = step == self.step and self.fuse[0]
        if is_it and not self.is_after:
            self._blow()
        result = getattr(super(), step)(*arguments)
        if is_it:
            self._blow()
        return result

    def _blow(self) -> None:
        self.fuse[0] = False
        message = f"fault at {self.step}"
        raise RuntimeError(message)

    def start(self, branch: Any) -> None:
        self._guarded("start", branch)

    def end(self, branch: Any) -> None:
        self._guarded("end", branch)

    def prepare(self, branch: Any) -> None:
        self._guarded("prepare", branch)

    def commit(self, branch: Any) -> bool:
        return bool(self._guarded("commit", branch))

    def roll_back(self, branch: Any) -> bool:
        return bool(self._guarded("roll_back", branch))


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["start", "end", "prepare", "commit"])
def test_a_fault_at_any_step_loses_nothing_and_repeats_nothing(database: Database, step: str, is_after: bool) -> None:
    class Failing(MySqlSink):
        def open_session(self) -> XaSession:
            session = FailingSession(self.settings.connection)
            session.step, session.is_after = step, is_after
            return session

    settled = exactly_once(database).set_batch_size(1).build()
    sink = Failing(settled.settings, settled.guarantee)
    run = Run(sink)
    run.write(1)
    checkpoint = run.checkpoint()
    FailingSession.fuse[0] = True
    done = 1
    try:
        run.write(2)
        checkpoint, done = run.prepare(), 2
        run.complete()
    except RuntimeError:
        run.close()
    else:
        pytest.fail("there was no fault")
    run = Run(sink, restored=checkpoint)
    run.write(*range(done + 1, 4))
    run.checkpoint()
    assert values(database) == [1, 2, 3]
    run.close()
