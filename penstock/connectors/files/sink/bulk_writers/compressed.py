"""Compressed text: what an encoder writes, through a compressor."""

from __future__ import annotations

from typing import Any, BinaryIO

from penstock.connectors.files.sink.encoder import as_encoder, encode_all
from penstock.errors import ProgramError
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory, Encoder

__all__ = ["CompressWriterFactory"]

_CODECS = {"gz": "gzip", "gzip": "gzip", "zst": "zstd", "zstd": "zstd", "bz2": "bz2", "lz4": "lz4", "br": "brotli"}


class CompressWriterFactory(BulkWriterFactory[Any]):
    """Makes the writers of compressed files.

    Files are closed at every checkpoint, since what a compressor has not written yet cannot be continued. Give them the
    usual suffix with `OutputFileConfig`: file sources know by it how to read them.

    Args:
        encoder: As in `FileSink.for_row_format`.
        codec: ``gz``, ``zst``, ``bz2``, ``lz4`` or ``br``.

    Example:
        >>> factory = CompressWriterFactory(Encoder.simple_string_encoder(), "zst")
    """

    def __init__(self, encoder: Any, codec: str = "gz") -> None:
        if codec not in _CODECS:
            message = f"There is no codec {codec!r}; choose one of {', '.join(sorted(_CODECS))}."
            raise ProgramError(message)
        self._encoder = as_encoder(encoder)
        self._codec = _CODECS[codec]

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        """Return a writer onto the stream of a new file."""
        return _CompressWriter(stream, self._encoder, self._codec)


class _CompressWriter(BulkWriter[Any]):
    def __init__(self, stream: BinaryIO, encoder: Encoder[Any], codec: str) -> None:
        import pyarrow

        self._output = pyarrow.CompressedOutputStream(stream, codec)
        self._encoder = encoder

    def add_element(self, element: Any) -> None:
        self.add_run([element])

    def add_run(self, elements: list[Any]) -> None:
        self._output.write(encode_all(self._encoder, elements))

    def flush(self) -> None:
        """Do nothing: a compressor that is flushed often compresses badly."""

    def finish(self) -> None:
        self._output.close()
