"""The command ``penstock`` and the alias that lets PyFlink scripts run."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from penstock.command_line import main

if TYPE_CHECKING:
    from pathlib import Path

# Builds a job and shows its plan, so that no Spark is needed to see what the script was given.
_SCRIPT = """
import sys
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1], type_info=Types.INT()).map(lambda x: x).print()
print(StreamExecutionEnvironment.__module__, env.get_parallelism(), sys.argv[1:], TumblingEventTimeWindows.__name__)
"""


def _penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    # In a process of its own: the command line and the alias are set once per process.
    return subprocess.run([sys.executable, "-m", "penstock", *arguments], capture_output=True, text=True, check=False)


def test_run_gives_a_pyflink_script_penstock_its_parallelism_and_its_arguments(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    done = _penstock("run", "-p", "16", str(script), "--input", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "penstock.api.environment 16 ['--input', 'x'] TumblingEventTimeWindows\n"


def test_run_gives_the_path_to_start_from_to_the_job(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "from penstock import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).print()\n"
        "job = env._build_job(None)\n"
        "print(job.restore_path, job.allows_non_restored_state)\n",
        encoding="utf-8",
    )
    assert _penstock("run", str(script)).stdout == "None False\n"
    assert _penstock("run", "-s", "file:///x/chk-50/_metadata", "-n", str(script)).stdout == (
        "file:///x/chk-50/_metadata True\n"
    )


def test_a_module_that_pyflink_has_and_penstock_does_not_is_an_import_error(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import pyflink.nowhere\n", encoding="utf-8")
    done = _penstock("run", str(script))
    assert done.returncode == 1
    assert "No module named 'pyflink.nowhere'" in done.stderr


def test_a_missing_script_and_a_wrong_setting_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "none.py")]) == 2
    script = tmp_path / "job.py"
    script.write_text("", encoding="utf-8")
    assert main(["run", "-D", "novalue", str(script)]) == 2
    said = capsys.readouterr().err
    assert "There is no script" in said
    assert "-D needs KEY=VALUE, not 'novalue'" in said


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "run" in said
    assert "doctor" in said


def test_doctor_shows_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    said = capsys.readouterr().out
    assert "Python: 3." in said
    assert "PySpark: 4.3" in said
    assert "ok      Accelerator: " in said
