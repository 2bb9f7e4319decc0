"""What the doctor finds out about open ports."""

from __future__ import annotations

import os
import socket

import pytest

from penstock.command_line import main
from penstock.execution.spark.driver import open_ports as module
from penstock.execution.spark.driver.open_ports import open_ports


@pytest.mark.parametrize(
    ("host", "family", "is_local"),
    [("127.0.0.1", socket.AF_INET, True), ("0.0.0.0", socket.AF_INET, False), ("::1", socket.AF_INET6, True)],
)
def test_a_port_that_is_listened_at_is_found(host: str, family: socket.AddressFamily, *, is_local: bool) -> None:
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        found = {entry.port: entry for entry in open_ports([os.getpid()])}
        assert (found[port].address, found[port].is_local) == (host, is_local)
    assert port not in {entry.port for entry in open_ports([os.getpid()])}


def test_a_process_that_is_not_there_has_no_ports() -> None:
    assert open_ports([2**22 + 1]) == []


def test_the_doctor_shows_which_ports_other_machines_reach(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "processes_of_jobs", lambda: [os.getpid()])
    with socket.create_server(("127.0.0.1", 0)) as near, socket.create_server(("0.0.0.0", 0)) as far:
        main(["doctor"])
        lines = capsys.readouterr().out.splitlines()
        ports = [server.getsockname()[1] for server in (near, far)]
    shown = {port: line for port in ports for line in lines if f"Port {port} at" in line}
    assert shown[ports[0]].startswith("ok      Port")
    assert "this machine only" in shown[ports[0]]
    assert shown[ports[1]].startswith("OPEN    Port")
    assert "OTHER MACHINES" in shown[ports[1]]
