"""Runs the job of tests/chaos/kafka_count_job.py; its settings come from a configuration file and the command line."""

import json
import sys

from penstock import StreamExecutionEnvironment
from tests.chaos.kafka_count_job import Counting, build


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Counting(**json.loads(sys.argv[2])))
    client = env.execute_async("kafka count")
    print("started", flush=True)
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
