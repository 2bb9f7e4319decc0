"""A job on a cluster whose executors share a secret; argument: the master."""

import sys
import time

from penstock import Configuration, StreamExecutionEnvironment

RECORDS = 400


def slowly(value: int) -> int:
    time.sleep(0.03)
    return value


settings = {
    "spark.master": sys.argv[1],
    "spark.authenticate": "true",
    "spark.authenticate.secret": "only for this test",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings)).set_parallelism(2)
stream = (
    env.from_collection(list(range(RECORDS))).map(slowly).key_by(lambda value: value % 4).map(lambda value: value + 1)
)
with stream.execute_and_collect() as results:
    total = next(results)
    print("running", flush=True)
    for result in results:
        total += result
print(total == RECORDS * (RECORDS + 1) // 2, flush=True)
