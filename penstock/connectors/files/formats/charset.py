r"""Which bytes end a line, and text in encodings where that is not a plain ``\n``."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from penstock.connectors.files.source.compression import ByteStream

__all__ = ["Charset"]

_PLAIN = ("ascii", "utf-8", "iso8859", "cp125", "koi8")
"""Encodings, by the beginning of their names, where the byte 10 ends a line and means nothing else."""
_ESCAPE = "penstock.escape"


class Charset:
    """An encoding of text files.

    Attributes:
        has_plain_lines: Whether lines can be found without decoding. Files in other encodings, UTF-16 for example, are
            turned into UTF-8 while they are read, and cannot be divided.
        codec: What the lines are decoded with.
    """

    def __init__(self, name: str) -> None:
        try:
            self.name = codecs.lookup(name).name
        except LookupError as error:
            message = f"There is no charset {name!r}: use a name that Python's codecs know, for example 'UTF-8'."
            raise ProgramError(message) from error
        self.has_plain_lines = self.name.startswith(_PLAIN)
        self.skips_mark = self.name == "utf-8-sig"
        self.codec = self.name if self.has_plain_lines and not self.skips_mark else "utf-8"

    def lines_of(self, stream: ByteStream) -> ByteStream:
        """Return the stream in an encoding with plain lines."""
        return stream if self.has_plain_lines else _Recoded(stream, self.name)


class _Recoded:
    """Another encoding as UTF-8; what cannot be decoded becomes something that is no UTF-8 either."""

    def __init__(self, stream: ByteStream, name: str) -> None:
        codecs.register_error(_ESCAPE, _escape)
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(name)(_ESCAPE)

    def read(self, size: int = -1, /) -> bytes:
        while True:
            block = self._stream.read(size)
            text = self._decoder.decode(bytes(block), final=not block)
            if text or not block:
                return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._stream.close()


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end
