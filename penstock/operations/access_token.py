"""The token that everything which changes a job has to show: random, in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from penstock.operations.registry import private_directory
from penstock.operations.settings import state_directory

__all__ = ["AccessToken", "read_token"]


class AccessToken:
    """The token of one driver."""

    def __init__(self) -> None:
        self._value = secrets.token_urlsafe(32)
        self.file: Path | None = None

    def store(self) -> Path:
        """Write the token to a new file of this user and return its path.

        Raises:
            OSError: It cannot be written.
        """
        if self.file is None:
            directory = state_directory() / "tokens"
            private_directory(str(directory))
            path = directory / f"{os.getpid()}-{secrets.token_hex(4)}"
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(number, "w", encoding="ascii") as file:
                file.write(self._value)
            self.file = path
        return self.file

    def remove(self) -> None:
        """Remove the file."""
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.unlink()

    def is_shown_in(self, authorization: str | None) -> bool:
        """Tell whether a header ``Authorization`` holds the token; takes the same time whatever it holds."""
        scheme, _, value = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(value.strip().encode(), self._value.encode())


def read_token(file: str) -> str:
    """Return the token in a file.

    Raises:
        OSError: It cannot be read.
    """
    return Path(file).read_text(encoding="ascii").strip()
