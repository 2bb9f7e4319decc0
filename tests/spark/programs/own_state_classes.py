"""Keeps objects of a class of this very script in all its state, fails once and goes on from a checkpoint."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from penstock import (
    CheckpointedFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    RestartStrategies,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)


@dataclass
class Number:
    value: int


class Keep(MapFunction, CheckpointedFunction):
    def __init__(self, marker):
        self.marker = marker

    def initialize_state(self, context):
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept"))
        is_restored = context.is_restored() and all(type(each) is Number for each in self.kept.get())
        if is_restored:
            self.marker.write_text("restored", encoding="utf-8")

    def snapshot_state(self, context):
        pass

    def map(self, value):
        time.sleep(0.001)
        self.kept.add(Number(value))
        if value == 400 and not self.marker.exists():
            self.marker.write_text("failed", encoding="utf-8")
            raise ValueError("once")
        return Number(value)


class Sum(KeyedProcessFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value, ctx):
        self.sum.update(Number((self.sum.value() or Number(0)).value + value.value))
        if value.value == 500:
            yield self.sum.value()


def main():
    place = Path(sys.argv[1])
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.enable_checkpointing(50)
    env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{place}/checkpoints")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    numbers = env.from_sequence(1, 500).map(Keep(place / "marker"))
    numbers.key_by(lambda number: number.value // 1000).process(Sum()).print()
    env.execute()
    print((place / "marker").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
