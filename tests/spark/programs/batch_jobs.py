"""Runs batch jobs with one slot, and kills a worker and, on a cluster, an executor in the middle of them."""

import os
import signal
import sys
from pathlib import Path

from penstock import (
    Configuration,
    Encoder,
    FileSink,
    MapFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)

MASTER, DIRECTORY = sys.argv[1], Path(sys.argv[2])


def environment(parallelism):
    settings = Configuration()
    settings.set_string("spark.master", MASTER)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(parallelism)
    return env.set_runtime_mode(RuntimeExecutionMode.BATCH)


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


class DieOnce(MapFunction):
    """Ends its process, or the executor it belongs to, at the first record of the first attempt of one subtask."""

    def __init__(self, victim, name):
        self.victim = victim
        self.mark = DIRECTORY / name

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value):
        if self.subtask == 1 and not self.mark.exists():
            self.mark.write_text("")
            executor = parent_of(parent_of(os.getpid()))
            os.kill(executor if self.victim == "executor" else os.getpid(), signal.SIGKILL)
        return value


def keyed_sums(env, victim, name):
    numbers = env.from_sequence(1, 4000).map(lambda n: (n % 50, n))
    sums = numbers.key_by(lambda pair: pair[0]).sum(1)
    return sums.key_by(lambda pair: pair[0]).map(DieOnce(victim, name))


def begun(client):
    tasks = client._handle.begun_tasks()
    return sorted((stage, index, count) for (stage, index), count in tasks.items() if count > 1)


def main():
    victim = "executor" if MASTER.startswith("local-cluster") else "worker"
    env = environment(4)  # twelve subtasks and more in one slot
    words = env.from_collection(["to be", "or not", "to be"]).flat_map(str.split)
    words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).print()
    env.execute("words")

    env = environment(3)
    sink = FileSink.for_row_format(str(DIRECTORY / "sums"), Encoder.simple_string_encoder()).build()
    keyed_sums(env, victim, "died").map(lambda pair: f"{pair[0]} {pair[1]}").sink_to(sink)
    client = env.execute_async("sums")
    client.get_job_execution_result().result()
    print("run again:", begun(client))
    files = [path for path in (DIRECTORY / "sums").rglob("*") if path.is_file()]
    print("hidden:", [path.name for path in files if path.name.startswith(".")])
    lines = [line for path in files for line in path.read_text().splitlines()]
    expected = [f"{rest} {sum(n for n in range(1, 4001) if n % 50 == rest)}" for rest in range(50)]
    print("each sum once:", sorted(lines) == sorted(expected))


if __name__ == "__main__":
    main()
