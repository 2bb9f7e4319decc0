"""Counts words as they come: the smallest whole job.

python examples/word_count.py
"""

from __future__ import annotations

from penstock import StreamExecutionEnvironment

LINES = ["hadoop hadoop", "hadoop", "hive hadoop"]


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    (
        env.from_collection(LINES)
        .flat_map(str.split)
        .map(lambda word: (word, 1))
        .key_by(lambda pair: pair[0])
        .sum(1)
        .print()
    )
    env.execute("word count")


if __name__ == "__main__":
    main()
