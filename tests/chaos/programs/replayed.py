"""Runs the job of tests/chaos/replayed_job.py; its settings come from a configuration file and the command line."""

import json
import sys
from pathlib import Path

from penstock import StreamExecutionEnvironment
from tests.chaos.faults import DRIVER_POINTS, FaultPlan, install
from tests.chaos.replayed_job import Readings, build


def main():
    place = Path(sys.argv[1])
    plan = FaultPlan(place / "faults")
    install(plan, DRIVER_POINTS)
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, Readings(**json.loads(sys.argv[2])), place / "output", plan)
    client = env.execute_async("chaos")
    print("started", flush=True)
    client.get_job_execution_result().result()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
