"""A public name is imported from the module that makes it, and brings little else with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.public_names import HOMES
from tests.architecture.public_names_table import homes
from tests.architecture.source_tree import ROOT

PROGRAM = """
import sys
from penstock import {name}
print(sum(module.partition(".")[0] == "penstock" for module in sys.modules))
"""


def test_the_table_says_where_names_are_made() -> None:
    table = {module: names.split() for module, names in HOMES.items()}
    assert table == homes(), "run `python -m tests.architecture.public_names_table`"


# With penstock, the table, the packages above the module, and what that needs itself.
@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("UserFunctionError", 4),
        ("MapFunction", 10),
        ("Row", 10),
        ("Configuration", 12),
        ("Types", 14),
        ("KafkaSource", 40),
    ],
)
def test_one_name_loads_few_modules(name: str, most: int) -> None:
    program = PROGRAM.format(name=name)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= most
