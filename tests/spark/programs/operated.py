"""Counts without end, by four keys: the number n is the (n // 4 + 1)th of its key, whatever happens in between."""

import time

from penstock import MapFunction, StreamExecutionEnvironment, ValueStateDescriptor
from penstock.common.typeinfo import Types


class Paced(MapFunction):
    def map(self, value):
        time.sleep(0.005)
        return value


class Count(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return f"{value} is number {count}"


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_sequence(0, 10**9).set_parallelism(1).uid("numbers")
    paced = numbers.map(Paced()).set_parallelism(1).uid("paced")
    paced.key_by(lambda value: value % 4).map(Count()).uid("count").name("Count").print().uid("out")
    env.execute("operated")
