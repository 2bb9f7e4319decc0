"""What strangers on the same machine do at the ports of a running job does not harm it.

With ``PENSTOCK_STRANGERS=many``: 1,000 half-open connections, 10,000 wrong keys and 1 GB of garbage at each port.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import StreamExecutionEnvironment
from penstock.execution.spark.driver.open_ports import OpenPort, open_ports
from tests.chaos.paced import Paced
from tests.spark.processes import children_of, program

PROGRAM = Path(__file__).parent / "programs" / "authenticated_cluster.py"

ARE_MANY = os.environ.get("PENSTOCK_STRANGERS") == "many"
HALF_OPEN = 1000 if ARE_MANY else 100
WRONG_KEYS = 10_000 if ARE_MANY else 100
GARBAGE_BYTES = 1 << 30 if ARE_MANY else 1 << 20
PATIENCE = 5 if ARE_MANY else 0.2
MORE_MEMORY = 50 << 20
RECORDS = 400

pytestmark = pytest.mark.timeout(1800 if ARE_MANY else 240)

FRAMES = [
    struct.pack(">qb", 13, 9) + b"stranger",  # a one-way message, which the shuffle's server takes for a reader's
    struct.pack(">qbqi", 25, 3, 1, 4) + b"rpc!",
    struct.pack(">qb", (1 << 31) - 9, 3),  # the beginning of a message of 2 GB
    b"GET / HTTP/1.1\r\n\r\n",
]


def test_a_job_finishes_whatever_strangers_send(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(list(range(RECORDS))).map(Paced(40)).key_by(lambda value: value % 4)
    with stream.map(lambda value: value + 1).execute_and_collect() as results:
        first = next(results)
        ports = ports_of_this_program()
        assert [port for port in ports if not port.is_local] == []
        assert len(ports) >= 4  # at least one of control and of Spark's page, and one for each writer of the shuffle
        before = memory_of(ports)
        with contextlib.ExitStack() as held_open:
            for port in ports:
                for connection in half_open(port):
                    held_open.enter_context(connection)
                for _ in range(WRONG_KEYS):
                    say(port, os.urandom(64))
                for frame in FRAMES:
                    say(port, frame)
                say(port, os.urandom(1 << 20), times=GARBAGE_BYTES >> 20)
            assert sorted([first, *results]) == list(range(1, RECORDS + 1))
        if ARE_MANY:
            assert memory_of(ports) - before < MORE_MEMORY


def test_a_job_on_executors_with_a_secret_finishes_whatever_strangers_send(tmp_path: Path) -> None:
    with program(tmp_path, PROGRAM, "local-cluster[2,4,1024]") as started:
        assert started.line() == "running"
        shuffle = [port for port in open_ports(started.left_behind()) if not port.is_local and port.command == "java"]
        assert len(shuffle) >= 2  # one per writing task
        for port in shuffle:
            for said in (*FRAMES, os.urandom(64), os.urandom(1 << 20)):
                say(port, said)
        assert started.run(200).splitlines() == ["True"]


def ports_of_this_program() -> list[OpenPort]:
    return open_ports([os.getpid(), *children_of(os.getpid())])


def memory_of(ports: list[OpenPort]) -> int:
    pages = (int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in {port.process for port in ports})
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


def half_open(port: OpenPort) -> Iterator[socket.socket]:
    with contextlib.suppress(OSError):  # no more are let in
        for _ in range(HALF_OPEN):
            yield socket.create_connection((port.address, port.port), timeout=PATIENCE)


def say(port: OpenPort, what: bytes, times: int = 1) -> None:
    """Send something, as often as the other side takes it."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((port.address, port.port), timeout=PATIENCE) as connection,
    ):
        for _ in range(times):
            connection.sendall(what)
