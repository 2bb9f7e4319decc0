"""Jobs on Spark that write to MariaDB and Redis, through failures of the job and of the servers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    DeliveryGuarantee,
    ExternalizedCheckpointRetention,
    JobStatus,
    MySqlPollingSource,
    MySqlSink,
    RedisSink,
    RestartStrategies,
    StreamExecutionEnvironment,
    UserFunctionError,
    WatermarkStrategy,
)
from tests.servers.mariadb import Database
from tests.servers.redis import RedisServer
from tests.spark.checkpoint_bench import CheckpointBench, checkpoint_ids, result
from tests.spark.checkpoint_jobs import numbers
from tests.spark.jobs import wait_until
from tests.spark.mariadb_jobs import MariaDbTransactions, Produced

pytestmark = pytest.mark.timeout(300)

OUTAGE = float(os.environ.get("PENSTOCK_OUTAGE", "3"))
"""How many seconds servers are down."""
T_TEST = "CREATE TABLE t_test (id BIGINT AUTO_INCREMENT PRIMARY KEY, value INT NOT NULL, insert_time DATETIME)"


@pytest.fixture
def bench(tmp_path: Path) -> CheckpointBench:
    return CheckpointBench(tmp_path)


@pytest.fixture
def table(mariadb: Database) -> Iterator[Database]:
    mariadb.execute(T_TEST)
    yield mariadb
    assert mariadb.prepared() == [], "no transaction is left behind"


def values(database: Database) -> list[int]:
    return [value for (value,) in database.rows("SELECT value FROM t_test ORDER BY id")]


def test_w_97_a_two_phase_sink_that_fails_at_15(table: Database, bench: CheckpointBench) -> None:
    """As told, five times as fast: a value every 200 ms, a checkpoint every 2 s."""

    def start(fail_at: int | None, restarts: int, restore: Path | None = None) -> Any:
        settings = {} if restore is None else {"execution__savepoint__path": f"file://{restore}"}
        env = bench.env(interval=2000, parallelism=1, **settings)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        )
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(restarts, 100))
        source = Produced(bench.place / "clock", 0.2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "topic_in").uid("topic_in")
        stream.add_sink(MariaDbTransactions(table.url, fail_at)).uid("mysql").name("mysql")
        return env.execute_async("two-phase commit")

    client = start(fail_at=15, restarts=3)
    wait_until(lambda: values(table), "the first rows")
    assert checkpoint_ids(bench.checkpoints), "there are no rows before the first checkpoint"
    first = values(table)
    assert first == list(range(1, len(first) + 1))
    assert 5 <= len(first) <= 14, "about ten"
    with pytest.raises(UserFunctionError, match="15 is a bad number"):
        result(client)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert values(table) == first, "each restart has written up to 15 again, and each time it was aborted"
    (checkpoint,) = checkpoint_ids(bench.checkpoints)
    result(start(fail_at=None, restarts=0, restore=bench.path_of(checkpoint)))
    assert values(table) == list(range(1, 21))
    ids = [number for (number,) in table.rows("SELECT id FROM t_test ORDER BY id")]
    assert ids[-1] > 20, "numbers of aborted rows are not used again"


def insert(env: StreamExecutionEnvironment, bench: CheckpointBench, sink: MySqlSink) -> None:
    numbers(env, bench.tap).sink_to(sink).uid("rows")


def exactly_once(database: Database, **options: Any) -> MySqlSink:
    return (
        MySqlSink.builder()
        .set_url(database.url, **options)
        .set_statement("INSERT INTO t_test (value, insert_time) VALUES (?, NOW())")
        .set_batch_size(7)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .build()
    )


def outage(server: Any, seconds: float) -> threading.Timer:
    """Kills a server; it comes back after a while."""
    server.kill()
    back = threading.Timer(seconds, server.start)
    back.start()
    return back


def test_a_database_that_is_down_restarts_the_job_and_loses_nothing(table: Database, bench: CheckpointBench) -> None:
    env = bench.env(interval=100)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 200))
    insert(env, bench, exactly_once(table, retries=0))
    bench.tap.open(10)
    client = env.execute_async("outage")
    wait_until(lambda: len(values(table)) == 20, "rows before the outage")
    back = outage(table.server, OUTAGE)
    bench.tap.open(30)
    back.join()
    wait_until(lambda: len(values(table)) == 60, "rows after the outage")
    bench.tap.open(50)
    result(client)
    assert sorted(values(table)) == list(range(100)), "every row, and every row once"


def test_a_database_that_is_down_is_waited_for(table: Database, bench: CheckpointBench) -> None:
    env = bench.env(interval=200)
    env.set_restart_strategy(RestartStrategies.no_restart())
    sink = (
        MySqlSink.builder()
        .set_url(table.url, retries=60, retry_backoff=100)
        .set_table("t_test", "id", "value")
        .set_key_columns("id")
        .set_statement_builder(lambda value: (value + 1, value))
        .build()
    )
    insert(env, bench, sink)
    bench.tap.open(10)
    client = env.execute_async("outage")
    wait_until(lambda: len(values(table)) == 20, "rows before the outage")
    back = outage(table.server, OUTAGE)
    bench.tap.open(50)
    back.join()
    result(client)
    assert values(table) == list(range(100))


def test_redis_that_is_down_is_waited_for(redis_store: RedisServer, bench: CheckpointBench) -> None:
    env = bench.env(interval=200)
    env.set_restart_strategy(RestartStrategies.no_restart())
    builder = RedisSink.builder().set_url(redis_store.url, retries=60, retry_backoff=100)
    sink = builder.set_key(lambda value: f"n{value}").set_value(lambda value: value).build()
    numbers(env, bench.tap).sink_to(sink)
    bench.tap.open(10)
    client = env.execute_async("outage")

    def size() -> int:
        with redis_store.connect() as store:
            return int(store.dbsize())

    wait_until(lambda: size() == 20, "values before the outage")
    back = outage(redis_store, OUTAGE)
    bench.tap.open(50)
    back.join()
    result(client)
    with redis_store.connect() as store:
        assert {key: store.get(key) for key in store.scan_iter()} == {f"n{value}": str(value) for value in range(100)}


def test_src_11_a_table_that_is_polled_on_spark(mariadb: Database, env: StreamExecutionEnvironment) -> None:
    mariadb.execute("CREATE TABLE user_info (userID VARCHAR(20) PRIMARY KEY, userName VARCHAR(10), userAge INT)")
    mariadb.execute("INSERT INTO user_info VALUES ('user_1', 'a', 10), ('user_2', 'b', 20)")
    builder = MySqlPollingSource.builder().set_url(mariadb.url).set_table("user_info")
    source = builder.set_map_key("userID").set_interval(200).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "users")
    records: Any = stream.map(lambda users: {user: row.userAge for user, row in users.items()}).execute_and_collect()
    with records:
        assert next(records) == {"user_1": 10, "user_2": 20}
        mariadb.execute("UPDATE user_info SET userAge = 11 WHERE userID = 'user_1'")
        assert any(record == {"user_1": 11, "user_2": 20} for record in records)


def test_rows_that_have_come_since_are_read_once_through_restarts(table: Database, bench: CheckpointBench) -> None:
    table.execute("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY)")
    env = bench.env(interval=100, parallelism=1)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 100))
    builder = MySqlPollingSource.builder().set_url(table.url, retries=0).set_table("log")
    source = builder.set_growing_columns("id").set_interval(50).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").uid("log").map(lambda row: row.id)
    stream.sink_to(exactly_once(table, retries=0)).uid("rows")
    client = env.execute_async("copy")
    table.execute("INSERT INTO log VALUES (NULL), (NULL), (NULL)")
    wait_until(lambda: values(table) == [1, 2, 3], "the first rows")
    outage(table.server, 1).join()
    table.execute("INSERT INTO log VALUES (NULL), (NULL)")
    wait_until(lambda: values(table) == [1, 2, 3, 4, 5], "all rows")
    client.cancel().result(30)
    assert values(table) == [1, 2, 3, 4, 5]
