"""Runs on the cluster named on the command line and says where its code came from and what arrived."""

import sys

import shapes

import penstock
from penstock import Configuration, MapFunction, StreamExecutionEnvironment
from penstock.errors import UserFunctionError


class Where(MapFunction):
    """Tells which file the worker has imported a module from, and in which process."""

    def map(self, value):
        import os
        import sys

        from penstock.foundation.native import native

        accelerator = getattr(native, "__file__", "")
        # A forked process is the module that its parent was started as.
        module = sys.modules["__main__"].__spec__.name
        return value, penstock.__file__, shapes.__file__, accelerator, os.getppid(), module


def long_line(number):
    return f"{number:06d}" * 5_000


def main():
    settings = Configuration()
    settings.set_string("spark.master", sys.argv[1])
    for setting in sys.argv[2:]:
        settings.set_string(*setting.split("=", 1))
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(4)
    with env.from_sequence(1, 40).rebalance().map(Where()).execute_and_collect() as records:
        found = list(records)
    assert sorted(value for value, *_ in found) == list(range(1, 41))
    print("penstock from", sorted({file for _, file, *_ in found}))
    print("shapes from", sorted({file for _, _, file, *_ in found}))
    print("accelerator from", sorted({file for _, _, _, file, *_ in found}))
    print("daemons", len({parent for *_, parent, _ in found}))
    print("started as", sorted({module for *_, module in found}))
    env.from_sequence(1, 200).map(long_line).print("line")
    env.execute("long lines")
    env.from_sequence(0, 200).rebalance().map(lambda n: 1 // n).name("divide").print("quotient")
    try:
        env.execute("fails")
    except UserFunctionError as error:
        print(error.step)
        print(error.user_traceback)


if __name__ == "__main__":
    main()
