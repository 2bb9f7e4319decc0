"""Lines from a socket; tests and threads meet at events, never by waiting for time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Boundedness, MalformedRecordError, ProgramError
from penstock.connectors import socket_text
from penstock.connectors.socket_text import SocketTextSource
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sources.protocol import ReaderContext
from tests.unit.local_jobs import collect, environment, run_locally

SOON = 10.0

Script = Callable[[socket.socket], None]


class Server:
    """Plays a script to each connection in turn, then closes it."""

    def __init__(self, *scripts: Script) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(scripts,))
        self._thread.start()

    def _serve(self, scripts: tuple[Script, ...]) -> None:
        for script in scripts:
            connection, _ = self._listening.accept()
            with connection:
                script(connection)
        self._listening.close()

    def stop(self) -> None:
        self._thread.join(SOON)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(*scripts: Script) -> Server:
        servers.append(Server(*scripts))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


Serve = Callable[..., Server]


def sending(*parts: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return script


class Reading:
    """A reader that waits for its wake-ups."""

    def __init__(self, source: SocketTextSource) -> None:
        self.woken = threading.Event()
        self.reader = source.open_split(source.create_splits(1)[0], None, ReaderContext(0, 1, wake_up=self.woken.set))

    def rest(self, limit: int = 100) -> list[str]:
        lines: list[str] = []
        while True:
            self.woken.clear()
            records = self.reader.read(limit)
            if records is None:
                self.reader.close()
                return lines
            lines += records[0]
            if not records[0]:
                assert self.woken.wait(SOON)


def test_lines_until_the_server_closes(serve: Serve) -> None:
    server = serve(sending(b"to be\nor n", b"ot\r\n\nlast"))
    assert Reading(SocketTextSource("127.0.0.1", server.port)).rest() == ["to be", "or not", "", "last"]


def test_other_delimiters_leave_line_ends_alone(serve: Serve) -> None:
    server = serve(sending(b"a\r\nb||c|", b"|d"))
    assert Reading(SocketTextSource("127.0.0.1", server.port, "||")).rest() == ["a\r\nb", "c", "d"]


def test_runs_are_not_longer_than_asked_for(serve: Serve) -> None:
    server = serve(sending(b"".join(b"%d\n" % number for number in range(100))))
    assert Reading(SocketTextSource("127.0.0.1", server.port)).rest(limit=7) == [str(number) for number in range(100)]


def test_a_reader_that_is_slow_makes_the_server_wait(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_text, "_BUFFERED_LINES", 3)
    monkeypatch.setattr(socket_text, "_BLOCK_BYTES", 4)
    server = serve(sending(b"".join(b"%d\n" % number for number in range(100))))
    assert Reading(SocketTextSource("127.0.0.1", server.port)).rest(limit=2) == [str(number) for number in range(100)]


def test_it_connects_again_as_often_as_it_may(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_text, "_RETRY_SECONDS", 0.0)
    server = serve(sending(b"a\n"), sending(b"b\nhalf"), sending(b"c\n"))
    assert Reading(SocketTextSource("127.0.0.1", server.port, max_retry=2)).rest() == ["a", "b", "half", "c"]


def test_a_server_that_is_not_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ExternalSystemError, match=f"127.0.0.1:{port}"):
        Reading(SocketTextSource("127.0.0.1", port)).rest()


def test_undecodable_text_is_malformed(serve: Serve) -> None:
    server = serve(sending(b"good\n\xff\xfe\n"))
    with pytest.raises(MalformedRecordError, match="record 2") as caught:
        Reading(SocketTextSource("127.0.0.1", server.port)).rest()
    assert caught.value.content == b"\xff\xfe"


def test_closing_ends_a_wait_for_the_server(serve: Serve) -> None:
    released = threading.Event()
    server = serve(lambda connection: (connection.sendall(b"a\n"), released.wait(SOON)))
    reading = Reading(SocketTextSource("127.0.0.1", server.port))
    assert reading.reader.read(10) in (([], None), (["a"], None))
    assert reading.woken.wait(SOON)
    thread: Any = reading.reader._thread  # type: ignore[attr-defined]
    reading.reader.close()
    assert not thread.is_alive()
    released.set()


def test_src_04_through_the_api(serve: Serve) -> None:
    server = serve(sending(b"to be\nor not to be\n"))
    env = environment(2)
    lines = env.socket_text_stream("127.0.0.1", server.port)
    collect(lines.flat_map(str.split).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1))
    counts = dict(run_locally(env).collected["out"])
    assert counts == {"to": 2, "be": 2, "or": 1, "not": 1}


def test_it_says_what_it_is() -> None:
    source = SocketTextSource("localhost", 1)
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert not source.is_replayable
    assert not source.is_parallel


@pytest.mark.parametrize("arguments", [("h", 0), ("h", 70000), ("h", 1, ""), ("h", 1, "\n", -2)])
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ProgramError, match="socket_text_stream"):
        environment().socket_text_stream(*arguments)
