"""Rules of the control channel: who gets in, who is waited for, and that no task holds up another."""

from __future__ import annotations

import contextlib
import pickle
import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.execution.spark.control.connection import MOST_FRAME_BYTES, ControlConnection
from penstock.execution.spark.control.dialing import dial
from penstock.execution.spark.control.handshake import ANSWER_BYTES, CHALLENGE_BYTES, Handshake
from penstock.execution.spark.control.messages import Metrics, Register, Release, Running
from penstock.execution.spark.control.outbox import Outbox
from penstock.execution.spark.control.reception import Reception
from penstock.execution.spark.control.server import ControlServer

SECONDS = 20.0


class Heard:
    """What the driver's end was told, and a way to wait for it."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.closed: list[Register] = []
        self._changed = threading.Condition()

    def on_message(self, sender: Register, message: Any) -> None:
        with self._changed:
            self.messages.append((sender.task, message))
            self._changed.notify_all()

    def on_closed(self, sender: Register) -> None:
        with self._changed:
            self.closed.append(sender)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, SECONDS), (self.messages, self.closed)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def server(heard: Heard) -> Iterator[ControlServer]:
    server = ControlServer("127.0.0.1", heard.on_message, heard.on_closed)
    yield server
    server.close()


def join(server: ControlServer, index: int, purpose: str = "control") -> ControlConnection:
    connection = dial(server.address, server.key)
    connection.send(Register((0, index), 0, purpose))
    return connection


def test_a_task_and_the_driver_hear_each_other(server: ControlServer, heard: Heard) -> None:
    task = join(server, 3)
    task.send(Running())
    heard.wait_for(lambda: ((0, 3), Running()) in heard.messages)
    assert server.send((0, 3), Release())
    assert task.receive() == Release()
    task.close()
    heard.wait_for(lambda: len(heard.closed) == 1)
    assert not server.send((0, 3), Release())


def test_a_wrong_key_is_refused(server: ControlServer, heard: Heard) -> None:
    with pytest.raises(ConnectionError):
        dial(server.address, b"another key", seconds=0.0)
    assert heard.messages == []


def test_nothing_is_unpickled_before_the_proof(server: ControlServer, heard: Heard, tmp_path: Path) -> None:
    mark = tmp_path / "executed"

    class Attack:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (mark,)

    packed = pickle.dumps(Attack())
    for frame in (packed, struct.pack("!i", len(packed)) + packed, struct.pack(">Q16s", len(packed), b"") + packed):
        with socket.create_connection(server.address, timeout=SECONDS) as stranger:
            stranger.sendall(frame.ljust(ANSWER_BYTES, b"\0"))
            assert _read_to_end(stranger)[CHALLENGE_BYTES:] == b""
    assert not mark.exists()
    assert heard.messages == []


def test_a_replayed_proof_is_refused(server: ControlServer) -> None:
    with socket.create_connection(server.address, timeout=SECONDS) as task:
        answer = Handshake(server.key).answer(task.recv(CHALLENGE_BYTES))
        task.sendall(answer)
        assert task.recv(1)
    with socket.create_connection(server.address, timeout=SECONDS) as stranger:
        stranger.sendall(answer)
        assert _read_to_end(stranger)[CHALLENGE_BYTES:] == b""


def test_a_connection_that_proves_nothing_is_dropped_in_time() -> None:
    reception = Reception("127.0.0.1", b"key", lambda *_: None, proof_seconds=0.05)
    try:
        with socket.create_connection(("127.0.0.1", reception.port), timeout=SECONDS) as stranger:
            stranger.sendall(b"?")
            assert len(_read_to_end(stranger)) == CHALLENGE_BYTES
    finally:
        reception.close()


def test_many_open_connections_keep_no_task_out() -> None:
    admitted: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    reception = Reception("127.0.0.1", b"key", lambda peer, _: admitted.put(peer), most_waiting=8)
    address = ("127.0.0.1", reception.port)
    with contextlib.ExitStack() as strangers:
        for _ in range(100):
            strangers.enter_context(socket.create_connection(address, timeout=SECONDS))
        dial(address, b"key").close()
        admitted.get(timeout=SECONDS).close()
        assert reception.waiting <= 8
        reception.close()
    assert reception.waiting == 0


def test_the_end_of_a_job_waits_for_tasks_and_not_for_strangers(server: ControlServer, heard: Heard) -> None:
    with socket.create_connection(server.address, timeout=SECONDS) as stranger:
        assert stranger.recv(1)
        task = join(server, 0)
        heard.wait_for(lambda: len(heard.messages) == 1)
        server.let_go()
        with pytest.raises(EOFError):
            task.receive()
        task.send(Metrics({"last": 1}))
        task.close()
        server.drain(None)
        assert heard.messages[-1] == ((0, 0), Metrics({"last": 1}))


def test_a_task_that_does_not_read_holds_up_no_other(server: ControlServer, heard: Heard) -> None:
    deaf, attentive = join(server, 0), join(server, 1)
    heard.wait_for(lambda: len(heard.messages) == 2)
    large = Metrics({"bytes": b"x" * 4_000_000})
    for _ in range(10):
        assert server.send((0, 0), large)
    assert server.send((0, 1), Release())
    assert attentive.receive() == Release()
    for task in (deaf, attentive):
        task.close()


def test_a_task_that_takes_nothing_for_too_long_is_given_up() -> None:
    ours, theirs = _pair()
    outbox = Outbox(ours, "the task", send_seconds=0.05)
    assert outbox.put(Metrics({"bytes": b"x" * 40_000_000}))
    with pytest.raises(EOFError):
        ours.receive()  # the connection has been ended
    assert not outbox.put(Release())
    for end in (ours, theirs):
        end.close()


def test_what_was_put_before_the_end_is_sent_before_it() -> None:
    ours, theirs = _pair()
    outbox = Outbox(ours, "the task")
    for number in range(100):
        assert outbox.put(number)
    outbox.finish()
    assert [theirs.receive() for _ in range(100)] == list(range(100))
    with pytest.raises(EOFError):
        theirs.receive()
    assert not outbox.put(Release())
    for end in (ours, theirs):
        end.close()


def test_a_task_whose_connection_has_ended_is_told_nothing() -> None:
    ours, theirs = _pair()
    theirs.close()
    ours.close()
    outbox = Outbox(ours, "the task")
    assert not outbox.put(Release())
    outbox.finish()
    ended = Outbox(ours, "the task")
    ended.finish()
    assert not ended.put(Release())


def test_a_frame_that_was_changed_or_repeated_ends_the_connection() -> None:
    forgeries: list[Callable[[bytes], bytes]] = [lambda frame: frame[:-1] + b"?", lambda frame: frame + frame]
    for forge in forgeries:
        keys = (b"a" * 32, b"b" * 32)
        left, between_left = _sockets()
        sender = ControlConnection(left, *keys)
        sender.send(Running())
        frame = between_left.recv(1000)
        between_right, right = _sockets()
        between_right.sendall(forge(frame))
        receiver = ControlConnection(right, *reversed(keys))
        with pytest.raises(ConnectionError, match="wrong tag"):
            assert receiver.receive() == receiver.receive()
        for end in (left, right, between_left, between_right):
            end.close()


def test_a_frame_that_is_too_large_is_not_read() -> None:
    ours, theirs = _sockets()
    theirs.sendall(struct.pack(">Q16s", MOST_FRAME_BYTES + 1, b""))
    with pytest.raises(ConnectionError, match="frame of"):
        ControlConnection(ours, b"a", b"b").receive()
    for end in (ours, theirs):
        end.close()


def test_tasks_that_have_gone_leave_no_thread_behind(server: ControlServer, heard: Heard) -> None:
    for index in range(30):
        join(server, index).close()
    heard.wait_for(lambda: len(heard.closed) == 30)
    server.drain(SECONDS)
    assert server.connected() == []
    assert server.readers == 0


def _read_to_end(peer: socket.socket) -> bytes:
    content = b""
    with contextlib.suppress(ConnectionError):
        while chunk := peer.recv(1000):
            content += chunk
    return content


def _sockets() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=SECONDS)
        peer, _ = listener.accept()
    return peer, client


def _pair() -> tuple[ControlConnection, ControlConnection]:
    peer, client = _sockets()
    return ControlConnection(peer, b"a", b"b"), ControlConnection(client, b"b", b"a")
