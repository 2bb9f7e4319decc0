"""Compressed files, known by the end of their names. Codecs are imported when a file needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ByteStream", "damage_of", "decompressed", "is_compressed"]


class ByteStream(Protocol):
    """The little that readers need of a binary file; every binary file of Python has it."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes, all that are left without a size, none at the end."""

    def close(self) -> None:
        """Release the file."""


def _gzip(file: Any) -> ByteStream:
    import gzip

    return gzip.GzipFile(fileobj=file, mode="rb")


def _zstd(file: Any) -> ByteStream:
    import pyarrow

    stream: ByteStream = pyarrow.CompressedInputStream(file, "zstd")
    return stream


def _bz2(file: Any) -> ByteStream:
    import bz2

    return bz2.BZ2File(file)


def _xz(file: Any) -> ByteStream:
    import lzma

    return lzma.LZMAFile(file)


_CODECS: dict[str, Callable[[Any], ByteStream]] = {
    "gz": _gzip, "gzip": _gzip, "zst": _zstd, "zstd": _zstd, "bz2": _bz2, "xz": _xz,
}  # fmt: skip


def is_compressed(path: str) -> bool:
    """Tell whether a file has the name of a compressed one."""
    return _suffix(path) in _CODECS


def decompressed(file: Any, path: str) -> ByteStream:
    """Return the content of a file as it was before it was compressed."""
    codec = _CODECS.get(_suffix(path))
    stream: ByteStream = file if codec is None else codec(file)
    return stream


def damage_of(error: Exception) -> str | None:
    """Return what is wrong with a compressed file; ``None`` if the error says nothing about the content."""
    import lzma
    import zlib

    is_damage = isinstance(error, (EOFError, zlib.error, lzma.LZMAError))
    if is_damage or (isinstance(error, OSError) and error.errno is None):
        return f"the compressed file is damaged or cut off: {error}"
    return None


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()
