"""Records that are much larger than Spark's buffers."""

from __future__ import annotations

from penstock import StreamExecutionEnvironment
from tests.spark.jobs import collect

LARGE = 120_000_000


def test_a_record_of_120_mb_arrives_among_small_ones(env: StreamExecutionEnvironment) -> None:
    sizes = [10, LARGE, 20, 3_000_000, 30, 40]
    stream = env.from_collection(sizes).map(lambda size: (size % 7, b"x" * size)).key_by(lambda pair: pair[0])
    assert sorted(collect(stream.map(lambda pair: len(pair[1])))) == sorted(sizes)
