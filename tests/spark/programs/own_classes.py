"""Uses classes and functions of this script, and of a module beside it, as records and functions."""

from dataclasses import dataclass

import shapes

from penstock import MapFunction, StreamExecutionEnvironment


@dataclass(frozen=True)
class Reading:
    sensor: str
    level: int


class Calibrate(MapFunction):
    def __init__(self, offset):
        self.offset = offset

    def map(self, value):
        return Reading(value.sensor, value.level + self.offset)


def larger(a, b):
    return a if a.level > b.level else b


def main():
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    readings = [Reading("weir", 3), Reading("lock", 5), Reading("weir", 1), Reading("weir", 7)]
    highest = env.from_collection(readings).rebalance().map(Calibrate(10)).set_parallelism(1)
    highest = highest.key_by(lambda reading: reading.sensor).reduce(larger)
    with highest.execute_and_collect() as found:
        records = list(found)
    assert all(type(record) is Reading for record in records)
    print([(r.sensor, r.level) for r in records if r.sensor == "weir"])

    boxes = env.from_collection([shapes.Box("a", 1), shapes.Box("b", 2)]).rebalance().map(shapes.grow)
    boxes.key_by("name").max("side").print("box")
    env.execute("boxes")


if __name__ == "__main__":
    main()
