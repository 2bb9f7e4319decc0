"""Programs as users write and start them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.processes import program

PROGRAMS = Path(__file__).parent / "programs"


def copy(name: str, directory: Path) -> Path:
    """Puts a program where nothing else is."""
    return Path(shutil.copy(PROGRAMS / name, directory / name))


@pytest.mark.timeout(240)
def test_classes_of_the_script_and_modules_beside_it(tmp_path: Path) -> None:
    copy("shapes.py", tmp_path)
    with program(tmp_path, copy("own_classes.py", tmp_path)) as started:
        code, output, errors = started.end(200)
        assert code == 0, errors
        lines = output.splitlines()
        assert lines[0] == "[('weir', 13), ('weir', 13), ('weir', 17)]"
        assert sorted(line.partition("> ")[2] for line in lines[1:]) == [
            "Box(name='a', side=2)",
            "Box(name='b', side=3)",
        ]
        assert errors == ""  # a job that goes well says nothing but its output
        started.wait_until_nothing_is_left()


@pytest.mark.timeout(240)
def test_a_session_that_is_already_there(tmp_path: Path) -> None:
    with program(tmp_path, copy("given_session.py", tmp_path)) as started:
        lines = started.run(200).splitlines()
    assert lines[:3] == ["[2, 3, 4]"] * 3
    assert lines[3].startswith("The job needs 6 task slots at the same time")
    assert "Spark (local[5]) has 5. Give it 1 more (spark.master=local[6])" in lines[3]
    assert lines[4:] == ["settings put back: True", "3"]


def test_too_few_slots_are_found_out_without_starting_spark() -> None:
    text = (
        "from penstock import Configuration, StreamExecutionEnvironment\n"
        "import sys\n"
        "settings = Configuration()\n"
        "settings.set_string('spark.master', 'local[3]')\n"
        "env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)\n"
        "env.from_sequence(1, 4).rebalance().map(lambda n: n).print()\n"
        "try:\n"
        "    env.execute()\n"
        "except Exception as error:\n"
        "    from pyspark import SparkContext\n"
        "    print(type(error).__name__, error, SparkContext._gateway)\n"
    )
    shown = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("NotEnoughSlotsError The job needs 4 task slots")
    assert "Spark (local[3]) has 3. Give it 1 more (spark.master=local[4])" in shown
    assert shown.endswith("None\n")
