"""Temporary directories that only this user may look into and that do not outlive their process for long.

All of a process's temporary files lie in one directory, below one per user. A lock says that its process lives: the
kernel lets go of it however the process ends, so who comes next knows what nobody needs any more and removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import threading
from pathlib import Path

__all__ = ["private_directory", "remove_private_directory"]

_PRIVATE = 0o700
_LOCK = ".lock"
_TRIES = 100

_guard = threading.Lock()
_own: dict[tuple[int, str], tuple[Path, int]] = {}
"""By process, as a forked one must not take its parent's for its own, and by the place they are in."""


def private_directory(name: str, place: str | None = None) -> Path:
    """Make a new directory for this process, which is removed with it, below ``place`` or the system's own."""
    place = place or tempfile.gettempdir()
    with _guard:
        own = _own.get((os.getpid(), place))
        if own is None or not own[0].is_dir():
            own = _own[os.getpid(), place] = _begin(Path(place))
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=own[0]))


def remove_private_directory(directory: Path) -> None:
    """Remove one that :func:`private_directory` made; the last one of a process leaves nothing behind."""
    shutil.rmtree(directory, ignore_errors=True)
    with _guard:
        for key, (own, lock) in list(_own.items()):
            if key[0] == os.getpid() and own == directory.parent:
                with contextlib.suppress(OSError):  # it holds others
                    own.rmdir()
                    _remove(own)
                    os.close(lock)
                    del _own[key]


def _directory_of_user(place: Path) -> Path:
    """Return the directory of this user; one that somebody else has put there instead is not used."""
    path = place / f"penstock-{os.getuid()}"
    path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return Path(tempfile.mkdtemp(prefix="penstock-", dir=place))
    if stat.S_IMODE(found.st_mode) != _PRIVATE:
        path.chmod(_PRIVATE)
    return path


def _begin(place: Path) -> tuple[Path, int]:
    for _ in range(_TRIES):
        parent = _directory_of_user(place)
        _remove_what_nobody_needs(parent)
        directory = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
        lock = _lock(directory.with_suffix(_LOCK), os.O_CREAT)
        if lock is not None:
            directory.mkdir(mode=_PRIVATE)
            return directory, lock
        # Another process was removing the directory of the user, or this lock, at this moment.
    message = f"No temporary directory can be made in {place}."
    raise OSError(message)


# Registered when this module is imported, and so run after what those who use it register.
@atexit.register
def _end() -> None:
    for (process, _), (directory, _) in _own.items():
        if process == os.getpid():
            _remove(directory)  # the lock goes with the process


def _remove_what_nobody_needs(parent: Path) -> None:
    for path in parent.glob(f"*{_LOCK}"):
        lock = _lock(path)
        if lock is not None:  # its process has ended without cleaning up
            _remove(path.with_suffix(""))
            os.close(lock)


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    if not directory.exists():  # else somebody still writes there; who comes next tries again
        directory.with_suffix(_LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others are in use
            directory.parent.rmdir()


def _lock(path: Path, flags: int = 0) -> int | None:
    """Take the lock of a directory; ``None`` where a process that lives has it, or it has just been removed."""
    with contextlib.suppress(OSError):
        lock = os.open(path, os.O_RDWR | flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == path.stat().st_ino:
                return lock
        except OSError:
            pass
        os.close(lock)
    return None
