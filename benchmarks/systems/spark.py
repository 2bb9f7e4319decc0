"""The jobs on Structured Streaming: Python's transformWithState, and plain SQL micro-batches for the latency jobs."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming import StatefulProcessor, StreamingQuery

from benchmarks import workload
from benchmarks.feeder import Feeder
from benchmarks.ledger import Delays, Tally, stamp_entry
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems import spark_nexmark

BATCH_ROWS = 100_000
"""Rows of a micro-batch of the throughput jobs; larger ones look better and delay each result more."""


class RunningCount(StatefulProcessor):
    """Emits the running count of each key, reading and writing the state once per key and micro-batch."""

    def init(self, handle: Any) -> None:
        self._count = handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self._count.get()[0] if self._count.exists() else 0
        for _ in rows:
            count += 1
            yield Row(key=key[0], n=count)
        self._count.update((count,))

    def close(self) -> None:
        """Has nothing to release."""


class CountInPandas(RunningCount):
    """The same with a data frame per key and micro-batch."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas as pd

        count = self._count.get()[0] if self._count.exists() else 0
        for frame in rows:
            size = len(frame)
            yield pd.DataFrame({"key": [key[0]] * size, "n": range(count + 1, count + size + 1)})
            count += size
        self._count.update((count,))


class CountAndForward(RunningCount):
    """Counts per key and passes the record on."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self._count.get()[0] if self._count.exists() else 0
        for row in rows:
            count += 1
            yield Row(key=key[0], created=row.created)
        self._count.update((count,))


def run(assignment: Assignment) -> Outcome:
    """Runs one job and leaves its stamps in the ledger."""
    spark = _session(assignment)
    rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    if assignment.variant != "sql":
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", rocks)
    settings = {
        "master": f"local[{assignment.parallelism}]",
        "spark.sql.shuffle.partitions": str(assignment.parallelism),
        "state store": "HDFSBacked" if assignment.variant == "sql" else "RocksDB",
        "micro-batch": "as soon as possible" if assignment.is_latency else f"{BATCH_ROWS:,} rows",
    }
    with tempfile.TemporaryDirectory(prefix="checkpoint-", ignore_cleanup_errors=True) as checkpoint:
        if assignment.is_latency:
            _latency(spark, assignment, checkpoint)
        else:
            _counts(spark, assignment, checkpoint)
    versions = {"python": platform.python_version(), "pyspark": pyspark.__version__}
    return Outcome(settings=settings, versions=versions)


def _session(assignment: Assignment) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark: SparkSession = (
        SparkSession.builder.master(f"local[{assignment.parallelism}]")
        .config("spark.sql.shuffle.partitions", assignment.parallelism)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _counts(spark: SparkSession, assignment: Assignment, checkpoint: str) -> None:
    numbers = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", BATCH_ROWS)
        .option("numPartitions", assignment.parallelism)
        .load()
        .where(sql.col("value") < assignment.units)
    )
    if assignment.job in spark_nexmark.JOBS:
        query = _start(spark_nexmark.results(numbers, assignment), checkpoint)
        _stop_after(query, -(-assignment.units // BATCH_ROWS))
        return
    keys, kind = _keys(numbers, assignment)
    if assignment.variant == "pandas":
        counts = keys.groupBy("key").transformWithStateInPandas(
            CountInPandas(), f"key {kind}, n long", "update", "none"
        )
    else:
        counts = keys.groupBy("key").transformWithState(RunningCount(), f"key {kind}, n long", "update", "none")
    query = _start(counts.mapInArrow(_tallying(assignment.ledger), "n long"), checkpoint)
    _stop_after(query, -(-assignment.units // BATCH_ROWS))


def _keys(numbers: DataFrame, assignment: Assignment) -> tuple[DataFrame, str]:
    """Maps numbers to keys in the engine, to words in Python; a Python step stamps the first record either way."""
    ledger = assignment.ledger
    if assignment.job == "words":

        def words(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            lines = workload.text()
            fresh = True
            for batch in batches:
                if fresh:
                    fresh = False
                    stamp_entry(ledger)
                numbers = batch.column(0).to_pylist()
                found = [word for number in numbers for word in lines[number % len(lines)].split()]
                yield pa.RecordBatch.from_pydict({"key": found})

        return numbers.select("value").mapInArrow(words, "key string"), "string"

    def stamped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fresh = True
        for batch in batches:
            if fresh:
                fresh = False
                stamp_entry(ledger)
            yield batch

    keys = workload.COUNT_KEYS[assignment.job]
    return numbers.select((sql.col("value") % keys).alias("key")).mapInArrow(stamped, "key long"), "long"


def _tallying(ledger: str) -> Any:
    def tally(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sink = Tally(ledger)
        for batch in batches:
            sink.count += batch.num_rows
            sink.total += pc.sum(batch.column("n")).as_py() or 0
            sink.last = time.monotonic_ns()
        sink.close()
        return iter(())

    return tally


def _latency(spark: SparkSession, assignment: Assignment, checkpoint: str) -> None:
    feeder = Feeder(assignment)
    feeder.start()
    lines = spark.readStream.format("socket").option("host", feeder.host).option("port", feeder.port).load()
    parts = sql.split("value", " ")
    records = lines.select(
        (parts[0].cast("long") % workload.LATENCY_KEYS).alias("key"), parts[1].cast("long").alias("created")
    )
    if assignment.variant == "sql":
        # A key occurs once a second, so its newest record is its only one in a micro-batch shorter than that.
        counted = records.groupBy("key").agg(sql.count("*").alias("n"), sql.max("created").alias("created"))
    else:
        counted = records.groupBy("key").transformWithState(
            CountAndForward(), "key long, created long", "update", "none"
        )
    if workload.EXCHANGES[assignment.job] == 2:
        # A second stateful step is refused in update mode: the second exchange only moves the records.
        counted = counted.repartition(assignment.parallelism, (sql.col("key") / 2).cast("long"))
    ledger = assignment.ledger

    def delays(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sink = Delays(ledger)
        for batch in batches:
            for created in batch.column("created").to_pylist():
                sink.add(created)
        sink.close()
        return iter(())

    query = _start(counted.mapInArrow(delays, "created long"), checkpoint)
    _stop_when_served(query, feeder)


def _start(results: DataFrame, checkpoint: str) -> StreamingQuery:
    return results.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoint).start()


def _stop_after(query: StreamingQuery, batches: int) -> None:
    """Stops a query when it has completed this many micro-batches."""
    pause = threading.Event()
    while query.isActive:
        progress = query.lastProgress
        if progress and progress["batchId"] >= batches - 1:
            break
        pause.wait(0.1)
    _end(query)


def _stop_when_served(query: StreamingQuery, feeder: Feeder) -> None:
    """Stops a query when all lines were sent and have passed."""
    while query.isActive and not feeder.served.wait(0.1):
        continue
    query.processAllAvailable()
    _end(query)


def _end(query: StreamingQuery) -> None:
    failure = query.exception()
    if failure:
        raise failure
    query.stop()


if __name__ == "__main__":
    main(run)
