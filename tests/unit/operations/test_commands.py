"""Commands that find and steer jobs: which job is meant, what is printed, and the exit codes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.command_line import main
from penstock.command_line.detached import run_arguments
from penstock.command_line.finding import NoSuchJobError, choose
from penstock.command_line.parser import make_parser
from penstock.command_line.top import top_text
from penstock.foundation.clock import SystemClock
from penstock.operations.access_token import AccessToken
from penstock.operations.registry import JobRegistry, RegistryEntry
from penstock.operations.rest.server import RestServer, is_web_installed
from penstock.operations.settings import OperationsSettings
from tests.unit.operations.served import Served

needs_web = pytest.mark.skipif(not is_web_installed(), reason="needs penstock[web]")


def entry(job_id: str, name: str, state: str = "RUNNING", **more: object) -> RegistryEntry:
    driver = {"host": socket.gethostname(), "process": os.getpid()}
    return RegistryEntry(job_id.ljust(32, "0"), name, state, 0, SystemClock().now(), **{**driver, **more})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path


def register(*entries: RegistryEntry) -> None:
    for each in entries:
        JobRegistry(None, SystemClock()).write(each)


# -- which job is meant


def test_a_job_is_called_by_its_id_its_beginning_or_its_name() -> None:
    first, second = entry("abcd1", "clicks"), entry("abcd2", "orders")
    entries = [first, second]
    assert choose(entries, first.id) is first
    assert choose(entries, "ABCD2") is second
    assert choose(entries, "orders") is second


def test_an_ambiguous_call_lists_who_is_meant() -> None:
    with pytest.raises(NoSuchJobError, match="2 jobs are called 'abcd'"):
        choose([entry("abcd1", "clicks"), entry("abcd2", "orders")], "abcd")
    with pytest.raises(NoSuchJobError, match="2 jobs are called 'clicks'"):
        choose([entry("abcd1", "clicks"), entry("abcd2", "clicks")], "clicks")


def test_a_job_that_runs_wins_over_one_of_the_same_name_that_ended() -> None:
    ended, running = entry("abcd1", "clicks", "FINISHED"), entry("abcd2", "clicks")
    assert choose([ended, running], "clicks") is running
    with pytest.raises(NoSuchJobError, match="has ended: FINISHED"):
        choose([ended], "clicks")
    with pytest.raises(NoSuchJobError, match="is lost"):
        choose([entry("abcd1", "clicks", "LOST")], "clicks")
    with pytest.raises(NoSuchJobError, match="No job is called"):
        choose([], "clicks")


# -- list


def test_list_prints_blocks_as_flink_does(capsys: pytest.CaptureFixture[str]) -> None:
    register(
        entry("a", "clicks"), entry("b", "orders", "CREATED"), entry("c", "old", "FINISHED", end=SystemClock().now())
    )
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip("-") == " Running/Restarting Jobs "
    assert lines[1].endswith(f" : {'a'.ljust(32, '0')} : clicks (RUNNING)")
    assert [line for line in lines if "orders (CREATED)" in line]
    assert not [line for line in lines if "old" in line]
    main(["list", "-a"])
    assert "old (FINISHED)" in capsys.readouterr().out
    main(["list", "-r"])
    assert "orders" not in capsys.readouterr().out


def test_list_shows_the_lost_and_says_if_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    register(entry("a", "clicks", process=2**30))
    main(["list"])
    assert capsys.readouterr().out.splitlines()[0] == "No running jobs."
    main(["list", "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["name"], found["state"]) == ("clicks", "LOST")


# -- steering


@needs_web
def test_commands_find_the_driver_and_its_token_by_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    served, token = Served(), AccessToken()
    file = token.store()
    server = RestServer(served.jobs, token, OperationsSettings.of({"rest.port": "0"}), "1")
    register(entry(served.job.id, "clicks", address=server.address, token_file=str(file)))
    try:
        served.control.outcome.set_result("/s/1")
        assert main(["savepoint", "clicks"]) == 0
        assert "Savepoint completed. Path: /s/1\n" in capsys.readouterr().out
        assert main(["stop", served.job.id[:6], "--drain", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"id": served.job.id, "location": "/s/1"}
        assert main(["cancel", "-s", "clicks"]) == 0
        assert main(["checkpoint", "clicks", "-full", "--detached", "--json"]) == 0
        assert served.control.calls == [
            ("savepoint", None), ("stop", None, True), ("cancel with savepoint", None), ("checkpoint", True)
        ]  # fmt: skip
        capsys.readouterr()
        assert main(["savepoint", "clicks", "/nowhere"]) == 1
        assert "Savepoints may be written" in capsys.readouterr().err
        assert main(["list", "-m", server.address.partition("://")[2]]) == 0
        assert served.job.id in capsys.readouterr().out
        assert main(["top", "clicks", "--once"]) == 0
        assert "Double" in capsys.readouterr().out
    finally:
        server.close()


def test_exit_codes_tell_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", "clicks"]) == 3
    register(entry("a", "silent"), entry("b", "gone", address="http://localhost:1"))
    assert main(["cancel", "silent"]) == 4
    assert "penstock[web]" in capsys.readouterr().err
    assert main(["cancel", "gone"]) == 4
    assert main(["cancel"]) == 2
    assert main(["savepoint"]) == 2


# -- run and info


def test_info_prints_the_plan_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "from penstock import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).map(str).name('Text').print()\n"
        "try:\n    env.execute()\nexcept Exception:\n    print('caught')\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "info", str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Text" in [node["type"] for node in json.loads(done.stdout)["nodes"]]


def test_a_detached_run_has_the_same_arguments() -> None:
    given = [
        "run",
        "-D",
        "a=b",
        "-p",
        "3",
        "-m",
        "local[9]",
        "-s",
        "/s",
        "-cm",
        "CLAIM",
        "-n",
        "job.py",
        "--input",
        "x",
    ]
    options = make_parser().parse_args(["run", "-d", *given[1:]])
    assert options.detached
    assert run_arguments(options) == given


def test_a_detached_script_without_a_job_says_what_it_wrote(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "job.py"
    script.write_text("raise SystemExit('no such topic')\n", encoding="utf-8")
    assert main(["run", "-d", str(script)]) == 1
    errors = capfd.readouterr().err
    assert "no such topic" in errors
    assert "ended without a job (exit code 1)" in errors


# -- others


def test_completion_knows_commands_options_and_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    register(entry("a", "clicks"), entry("b", "old", "FINISHED", end=SystemClock().now()))

    def completed(*words: str) -> list[str]:
        main(["__complete", *words])
        return capsys.readouterr().out.splitlines()

    assert completed("ch") == ["checkpoint"]
    assert "--drain" in completed("stop", "-")
    assert completed("stop", "cl") == ["clicks"]
    assert completed("stop", "") == ["a".ljust(32, "0"), "clicks"]
    assert completed("run", "x") == []
    assert main(["completion", "bash"]) == 0


def test_top_shows_rates_since_the_look_before() -> None:
    step = {"id": "1", "name": "Double", "parallelism": 2, "records-in": 10, "records-out": 5, "watermark-lag": None}
    before = {"now": 1000, "state": "RUNNING", "steps": [step]}
    seen = {"now": 3000, "state": "RUNNING", "steps": [{**step, "records-in": 30, "watermark-lag": 1500}]}
    title, head, row = top_text("clicks", seen, before).splitlines()
    assert title == "clicks: RUNNING"
    assert head.split() == ["STEP", "PAR", "IN", "OUT", "IN/S", "OUT/S", "LAG"]
    assert row.split()[:6] == ["Double", "2", "30", "5", "10", "0"]
    assert top_text("clicks", before, None).splitlines()[2].split() == ["Double", "2", "10", "5", "-", "-", "-"]
