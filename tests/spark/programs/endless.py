"""Prints for ever. Its functions write down that they are opened and closed, in the file named on the command line."""

import sys
import time
from pathlib import Path

from penstock import MapFunction, SourceFunction, StreamExecutionEnvironment


class Ticks(SourceFunction):
    def __init__(self):
        self.is_running = True

    def run(self, ctx):
        number = 0
        while self.is_running:
            ctx.collect(number)
            number += 1
            time.sleep(0.05)

    def cancel(self):
        self.is_running = False


class Watched(MapFunction):
    def __init__(self, path):
        self.path = path

    def write(self, word):
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(f"{word}\n")

    def open(self, runtime_context):
        self.write("open")

    def map(self, value):
        return value

    def close(self):
        self.write("close")


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.add_source(Ticks()).rebalance().map(Watched(sys.argv[1])).print()
    env.execute("endless")
