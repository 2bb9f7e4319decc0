"""Real executors: a standalone cluster, started from the installed PySpark, and Spark's cluster in one machine."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from penstock.foundation.native import native
from tests.spark.processes import program
from tests.spark.test_programs import copy

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]


@contextmanager
def daemon(directory: Path, name: str, started: str, *arguments: str) -> Iterator[str]:
    """Starts a part of a standalone cluster and returns the line of its log that says that it has started."""
    home = Path(pyspark.__file__).parent
    log = directory / f"{name}.log"
    # Nothing of the program: neither its search path nor its working directory.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK"))}
    environment |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(directory / name)}
    with log.open("w") as file:
        command = [str(home / "bin" / "spark-class"), *arguments]
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=directory)
    try:
        deadline = time.monotonic() + 120
        while not (found := re.search(started, log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield found[0]
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("cluster")
    address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    size = ["--cores", "5", "--memory", "1g"]
    master_class, worker_class = (f"org.apache.spark.deploy.{name}" for name in ("master.Master", "worker.Worker"))
    with (
        daemon(directory, "master", r"spark://127\.0\.0\.1:\d+", master_class, *address) as master,
        daemon(directory, "first", "Successfully registered", worker_class, *address, *size, master),
        daemon(directory, "second", "Successfully registered", worker_class, *address, *size, master),
    ):
        yield master


def check(output: str, *, is_shipped: bool) -> None:
    lines = output.splitlines()
    penstock_files = ast.literal_eval(lines[0].removeprefix("penstock from "))
    (shapes_file,) = ast.literal_eval(lines[1].removeprefix("shapes from "))
    for file in penstock_files:  # each executor has a directory of its own
        assert re.search(r"/penstock-\w+\.zip/penstock/__init__\.py$", file)
    if is_shipped:
        assert re.search(r"/shapes-\w+\.zip/shapes\.py$", shapes_file)
    places = ast.literal_eval(lines[2].removeprefix("accelerator from "))
    if native is not None:
        # Executors on the driver's machine have one of their own, too; the one that was sent comes first.
        name = Path(native.__file__).name
        assert [Path(place).name for place in places] == [name, name]
        assert native.__file__ not in places
    assert lines[3] == "daemons 2"  # one per executor
    assert lines[4] == "started as ['penstock_fork_server']"
    printed = [re.fullmatch(r"line:([1-4])> ((\d{6})\3*)", line) for line in lines[5:205]]
    assert all(printed), "a line is torn"
    assert sorted(int(found[3]) for found in printed if found) == list(range(1, 201))
    assert {len(found[2]) for found in printed if found} == {30_000}
    assert {found[1] for found in printed if found} == {"1", "2", "3", "4"}
    failure = [line for line in lines[205:] if not line.startswith("quotient:")]
    assert re.fullmatch(r"divide \([1-4]/4\)", failure[0])
    assert failure[1] == "Traceback (most recent call last):"
    assert re.search(r"cluster_job\.py\", line \d+, in <lambda>$", failure[2])  # the user's own line, nothing before it
    assert failure[-2:] == ["ZeroDivisionError: integer division or modulo by zero", ""]


def test_a_standalone_cluster_gets_everything_from_the_driver(standalone: str, tmp_path: Path) -> None:
    copy("shapes.py", tmp_path)
    arguments = [standalone, "spark.executor.memory=600m"]
    script = copy("cluster_job.py", tmp_path)
    with program(tmp_path, script, *arguments, SPARK_LOCAL_IP="127.0.0.1") as started:
        check(started.run(200), is_shipped=True)


def test_a_local_cluster(tmp_path: Path) -> None:
    copy("shapes.py", tmp_path)
    with program(tmp_path, copy("cluster_job.py", tmp_path), "local-cluster[2,5,1024]") as started:
        check(started.run(200), is_shipped=False)
        started.wait_until_nothing_is_left()
