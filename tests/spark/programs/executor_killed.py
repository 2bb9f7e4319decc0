"""Kills an executor under a running job, twice: without a restart strategy and with one."""

import os
import signal
import sys
import time
from pathlib import Path

from penstock import Configuration, JobStatus, RestartStrategies, SourceFunction, StreamExecutionEnvironment


class Ticks(SourceFunction):
    def __init__(self):
        self.is_running = True

    def run(self, ctx):
        number = 0
        while self.is_running:
            ctx.collect(number)
            number += 1
            time.sleep(0.01)

    def cancel(self):
        self.is_running = False


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def start(env):
    env.add_source(Ticks()).rebalance().map(lambda n: n).filter(lambda _: False).print()
    client = env.execute_async("victim")
    wait_for(client, JobStatus.RUNNING)
    return client


def wait_for(client, status):
    while client.get_job_status().result() is not status:
        time.sleep(0.05)


def kill_an_executor(client):
    _, worker = client._handle.processes()["stage 1, task 0"]
    executor = parent_of(parent_of(worker))  # the worker's daemon is a child of the executor's JVM
    os.kill(executor, signal.SIGKILL)


def main():
    settings = Configuration()
    settings.set_string("spark.master", sys.argv[1])
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(3)

    client = start(env)
    kill_an_executor(client)
    killed = time.monotonic()
    try:
        client.get_job_execution_result().result()
    except Exception as error:
        print(type(error).__name__, round(time.monotonic() - killed), str(error).replace("\n", " "), flush=True)
    print(client.get_job_status().result().name, flush=True)

    with env.from_sequence(1, 5).rebalance().map(lambda n: n).execute_and_collect() as records:
        print(sorted(records), flush=True)

    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    client = start(env)
    before = dict(client._handle.processes())
    kill_an_executor(client)
    while (
        client._handle.processes().items() & before.items() or client.get_job_status().result() is not JobStatus.RUNNING
    ):
        time.sleep(0.05)
    print("runs again", flush=True)
    client.cancel().result()
    print(client.get_job_status().result().name)


if __name__ == "__main__":
    main()
