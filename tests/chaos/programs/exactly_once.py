"""Runs the job of tests/chaos/exactly_once_job.py; its settings come from a configuration file and the command line."""

import json
import sys
from pathlib import Path

from penstock import StreamExecutionEnvironment
from tests.chaos.exactly_once_job import Work, build
from tests.chaos.faults import DRIVER_POINTS, FaultPlan, install


def main():
    plan = FaultPlan(Path(sys.argv[1]) / "faults")
    install(plan, DRIVER_POINTS)
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Work.of(json.loads(sys.argv[2])), plan)
    client = env.execute_async("exactly once")
    print("started", flush=True)
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
