"""Importing the package is quick and starts nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.source_tree import ROOT

HEAVY = ("py4j", "pyarrow", "pyspark", "pandas", "numpy")
LIMIT_SECONDS = 0.150
LIMIT_SECONDS_OF_THE_FACADE = 0.200  # 0.11 when nothing else runs; beside other work the same instructions take longer
LIMIT_SECONDS_FOR_ALL = 0.600  # for every module there is, connectors included, which no program needs
ATTEMPTS = 12  # the fastest counts: the others were disturbed

PROGRAM = """
import sys, time
started = time.process_time()  # not disturbed by what else the machine does
{statement}
print(time.process_time() - started, *sorted({heavy!r} & {{name.partition(".")[0] for name in sys.modules}}))
"""


@pytest.mark.parametrize(
    ("statement", "limit"),
    [
        ("import penstock", LIMIT_SECONDS),
        ("import penstock.datastream", LIMIT_SECONDS_OF_THE_FACADE),
        ("from penstock import *", LIMIT_SECONDS_FOR_ALL),
    ],
)
def test_import_is_light(statement: str, limit: float) -> None:
    runs = [_run(statement) for _ in range(ATTEMPTS)]
    assert {name for _, loaded in runs for name in loaded} == set()
    assert min(seconds for seconds, _ in runs) < limit


def _run(statement: str) -> tuple[float, list[str]]:
    program = PROGRAM.format(statement=statement, heavy=set(HEAVY))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, *loaded = done.stdout.split()
    return float(seconds), loaded
