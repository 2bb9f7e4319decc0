"""Whole jobs with MariaDB and Redis, in this process: programs as users write them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import (
    Configuration,
    DeliveryGuarantee,
    MySqlPollingSource,
    MySqlSink,
    RedisSink,
    Row,
    StreamExecutionEnvironment,
    Types,
    WatermarkStrategy,
)
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.errors import ProgramError
from penstock.testing import build_job
from penstock.testing.local_run import LocalRun, run_locally
from tests.servers.mariadb import HOST, PASSWORD, USER, Database
from tests.servers.redis import RedisServer
from tests.unit.local_jobs import collect, environment, local_run

BOOKS = [(1, "Dune"), (2, "Emma"), (3, "Ulysses")]


@pytest.fixture
def books(mariadb: Database) -> Iterator[Database]:
    mariadb.execute("CREATE TABLE books (id INT PRIMARY KEY, title VARCHAR(50))")
    yield mariadb
    assert mariadb.prepared() == []


def jdbc(database: Database) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(f"jdbc:mysql://{HOST}:{database.server.port}/{database.name}?useSSL=false&serverTimezone=UTC")
        .with_driver_name("com.mysql.cj.jdbc.Driver")
        .with_user_name(USER)
        .with_password(PASSWORD)
        .build()
    )


def exactly_once(database: Database, prefix: str | None = None) -> MySqlSink:
    builder = MySqlSink.builder().set_url(database.url).set_table("books", "id", "title")
    builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return builder.build() if prefix is None else builder.set_transaction_prefix(prefix).build()


@pytest.mark.parametrize("way", ["add_sink", "sink_to"])
def test_a_program_of_pyflink_writes_rows(books: Database, way: str) -> None:
    env = environment(2)
    type_info = Types.ROW([Types.INT(), Types.STRING()])
    stream = env.from_collection(BOOKS, type_info=Types.TUPLE([Types.INT(), Types.STRING()])).map(
        lambda book: Row(*book), output_type=type_info
    )
    execution = JdbcExecutionOptions.builder().with_batch_interval_ms(1000).with_batch_size(200).build()
    sink = JdbcSink.sink("INSERT INTO books (id, title) VALUES (?, ?)", type_info, jdbc(books), execution)
    getattr(stream, way)(sink)
    run_locally(env)
    assert books.rows("SELECT * FROM books ORDER BY id") == BOOKS


def test_a_bounded_job_commits_all_its_rows(books: Database) -> None:
    env = environment(2)
    env.enable_checkpointing(1000)
    env.from_collection(BOOKS).rebalance().sink_to(exactly_once(books)).uid("books")
    run_locally(env)
    assert books.rows("SELECT * FROM books ORDER BY id") == BOOKS


def test_exactly_once_needs_checkpoints(books: Database) -> None:
    env = environment()
    env.from_collection(BOOKS).sink_to(exactly_once(books))
    with pytest.raises(ProgramError, match="enable_checkpointing"):
        run_locally(env)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_goes_on_from_a_checkpoint_with_its_transactions(books: Database, parallelism: int) -> None:
    def build(parallelism: int) -> StreamExecutionEnvironment:
        env = environment(parallelism)
        env.enable_checkpointing(3_600_000)
        books_stream = env.from_source(_polled(books), WatermarkStrategy.no_watermarks(), "lines").uid("lines")
        books_stream.map(lambda row: (row.id, row.line)).rebalance().sink_to(exactly_once(books)).uid("books")
        return env

    books.execute("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, line VARCHAR(50))")
    books.execute("INSERT INTO log (line) VALUES ('a'), ('b'), ('c')")
    first = local_run(build(2))
    first.step()
    checkpoint = first.checkpoint()
    assert len(books.rows("SELECT * FROM books")) == 3
    books.execute("INSERT INTO log (line) VALUES ('d'), ('e')")
    first.advance(5000)
    first.step()
    # The job is lost here, its connections with it.
    first.close()
    second = LocalRun.of(build(parallelism), restore=checkpoint)
    second.step()
    assert len(books.rows("SELECT * FROM books")) == 3
    second.checkpoint()
    assert [title for _, title in books.rows("SELECT * FROM books ORDER BY id")] == ["a", "b", "c", "d", "e"]
    second.close()


def _polled(database: Database) -> MySqlPollingSource:
    return MySqlPollingSource.builder().set_url(database.url).set_table("log").set_growing_columns("id").build()


def test_src_11_sql_02_a_polled_table_in_a_job(mariadb: Database) -> None:
    mariadb.execute("CREATE TABLE user_info (userID VARCHAR(20) PRIMARY KEY, userName VARCHAR(10), userAge INT)")
    mariadb.execute("INSERT INTO user_info VALUES ('user_1', 'a', 10), ('user_2', 'b', 20)")
    source = MySqlPollingSource.builder().set_url(mariadb.url).set_table("user_info").set_map_key("userID").build()
    env = environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "users")
    collect(stream.map(lambda users: {user: row.userAge for user, row in users.items()}))
    run = local_run(env)
    run.step()
    run.advance(4999)
    run.step()
    assert run.collected["out"] == [{"user_1": 10, "user_2": 20}]
    mariadb.execute("UPDATE user_info SET userAge = 11 WHERE userID = 'user_1'")
    run.advance(1)
    run.step()
    assert run.collected["out"] == [{"user_1": 10, "user_2": 20}, {"user_1": 11, "user_2": 20}]
    run.close()


def test_w_102_counts_in_redis_and_a_table_can_be_written_twice(mariadb: Database, redis_store: RedisServer) -> None:
    mariadb.execute("CREATE TABLE counts (word VARCHAR(50) PRIMARY KEY, total INT)")
    env = environment(2)
    words = env.from_collection(["to", "be", "or", "not", "to", "be"])
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    table = MySqlSink.builder().set_url(mariadb.url).set_table("counts", "word", "total").set_key_columns("word")
    store = RedisSink.builder().set_url(redis_store.url).set_key(lambda pair: pair[0]).set_value(lambda pair: pair[1])
    counts.sink_to(table.build())
    counts.sink_to(store.build())
    job = build_job(env)
    LocalRun(job).run()
    LocalRun(job).run()
    expected = {"to": 2, "be": 2, "or": 1, "not": 1}
    assert dict(mariadb.rows("SELECT * FROM counts")) == expected
    with redis_store.connect() as client:
        assert {word: int(client.get(word)) for word in client.scan_iter()} == expected


@pytest.mark.parametrize(
    ("sink", "level"), [("insert", "at-least-once"), ("upsert", "exactly-once"), ("transactions", "exactly-once")]
)
def test_the_guarantee_of_a_job_is_that_of_its_sink(sink: str, level: str) -> None:
    env = environment()
    env.enable_checkpointing(1000)
    builder = MySqlSink.builder().set_url("mysql://localhost/shop").set_table("books", "id", "title")
    if sink == "upsert":
        builder.set_key_columns("id")
    if sink == "transactions":
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    env.from_collection(BOOKS).sink_to(builder.build())
    assert f"Guarantee: {level} into" in env.explain()


def test_a_table_that_is_read_whole_cannot_be_read_again() -> None:
    env = environment()
    env.enable_checkpointing(1000)
    env.configure(Configuration.from_dict({"penstock.guarantee": "exactly-once"}))
    source = MySqlPollingSource.builder().set_url("mysql://localhost/shop").set_table("books").build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "books")
    stream.sink_to(
        MySqlSink.builder().set_url("mysql://localhost/shop").set_table("b", "id").set_key_columns("id").build()
    )
    with pytest.raises(ProgramError, match="cannot read records again"):
        build_job(env)
