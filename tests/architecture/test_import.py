"""Importing the package is quick and starts nothing."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from tests.architecture.source_tree import ROOT

HEAVY = ("py4j", "pyarrow", "pyspark", "pandas", "numpy")
LIMIT_SECONDS = 0.150
LIMIT_SECONDS_OF_THE_FACADE = 0.200  # 0.11 when nothing else runs; beside other work the same instructions take longer
LIMIT_SECONDS_FOR_ALL = 1.000  # for every module there is, which no program needs: 0.3 when nothing else runs
ATTEMPTS = 12  # at most; the fastest counts: the others were disturbed

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
    fastest = math.inf
    for _ in range(ATTEMPTS):
        seconds, loaded = _run(statement)
        assert loaded == []
        fastest = min(fastest, seconds)
        if fastest < limit:
            return
    pytest.fail(f"the fastest of {ATTEMPTS} took {fastest:.3f} s")


def _run(statement: str) -> tuple[float, list[str]]:
    program = PROGRAM.format(statement=statement, heavy=set(HEAVY))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, *loaded = done.stdout.split()
    return float(seconds), loaded
