"""A file system on which the job dies before or after any operation, as a process does that is killed there."""

from __future__ import annotations

from typing import Any


class Killed(BaseException):
    """The process is gone; nobody catches this."""


class Fuse:
    """Counts operations and kills at the one that a test has chosen."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self) -> None:
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise Killed


class FaultyStream:
    """A stream whose writes, syncs and end may be the last thing the process does."""

    def __init__(self, stream: Any, fuse: Fuse) -> None:
        self._stream = stream
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, data: bytes) -> int:
        self._fuse.step()
        return self._stream.write(data)

    def persist(self) -> None:
        self._fuse.step()
        self._stream.persist()
        self._fuse.step()

    def end(self) -> None:
        self._fuse.step()
        self._stream.end()
        self._fuse.step()


class FaultyStorage:
    """A storage whose operations may be the last thing the process does."""

    def __init__(self, storage: Any, fuse: Fuse) -> None:
        self._storage = storage
        self._fuse = fuse
        self.streams: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def begin(self, path: str) -> FaultyStream:
        return self._stream(self._storage.begin, path)

    def resume(self, path: str, length: int, new_path: str) -> FaultyStream:
        return self._stream(self._storage.resume, path, length, new_path)

    def move(self, source: str, target: str) -> None:
        self._fuse.step()
        self._storage.move(source, target)
        self._fuse.step()

    def delete(self, path: str) -> None:
        self._fuse.step()
        self._storage.delete(path)
        self._fuse.step()

    def keep_names(self, directories: Any) -> None:
        self._fuse.step()
        self._storage.keep_names(directories)

    def _stream(self, opened: Any, *place: Any) -> FaultyStream:
        self._fuse.step()
        stream = opened(*place)
        self.streams.append(stream)
        self._fuse.step()
        return FaultyStream(stream, self._fuse)


class CopyingStorage:
    """Another storage as an object store has it: no rename, but a copy and then a deletion."""

    has_rename = False
    can_resume = False

    def __init__(self, storage: Any, fuse: Fuse) -> None:
        self._storage = storage
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def move(self, source: str, target: str) -> None:
        with self._storage.read(source) as file:
            self._storage.publish(target, file.read())
        self._fuse.step()
        self._storage.delete(source)
