r"""Cuts files into lines, many at a time, and knows the place of each in bytes.

A line ends with ``\n`` or ``\r\n``; the last one of a file may end without. Files are read in chunks that are cut
behind their last line end and decoded at once. Where a line lies in the file is worked out only when it is asked for:
from the start of its chunk and the line ends before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.connectors.files.source.compression import damage_of
from penstock.errors import JobFailedError

if TYPE_CHECKING:
    from penstock.connectors.files.formats.charset import Charset
    from penstock.connectors.files.source.input_file import InputFile

__all__ = ["CHUNK_BYTES", "LineCursor", "LinePlace", "UndecodableLine"]

CHUNK_BYTES = 128 * 1024
"""How much to read at a time; more does not fit a processor's cache."""
_REMOTE_CHUNK_BYTES = 4 * 1024 * 1024
"""The same where each read is a request to another machine."""
_COUNTED_BYTES = 1 << 30
_MARK = b"\xef\xbb\xbf"


class UndecodableLine(NamedTuple):
    """Stands in the list of lines where a line is not in the charset of the file."""

    problem: str


class LinePlace(NamedTuple):
    """Where a line is: a chunk, and the number of the line in it."""

    start: int
    data: bytes
    number: int

    def offset(self) -> int:
        """Return how many bytes of the file lie before the line."""
        return self.start + self._distance(self.number)

    def content(self) -> bytes:
        """Return the line as it lies in the file, without its end."""
        line = self.data[self._distance(self.number) : self._distance(self.number + 1)]
        return line.removesuffix(b"\n").removesuffix(b"\r")

    def _distance(self, number: int) -> int:
        distance = 0
        for _ in range(number):
            end = self.data.find(b"\n", distance)
            if end < 0:
                return len(self.data)
            distance = end + 1
        return distance


class LineCursor:
    """Walks over the lines of a file, or of a range of it.

    Attributes:
        lines: The lines of the current chunk. Where ``has_undecodable`` is set there may be ``UndecodableLine`` s.
        index: The number of the next line in it.

    Args:
        file: What to read.
        charset: Its encoding.
        position: The offset of the line to begin with; ``None`` for the first one that begins in the range.
        keeps_ends: Whether the lines keep their ends.
        chunk_bytes: How much to read at a time.
    """

    def __init__(
        self,
        file: InputFile,
        charset: Charset,
        position: int | None = None,
        *,
        keeps_ends: bool = False,
        chunk_bytes: int | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.index = 0
        self.has_undecodable = False
        self._file = file
        self._charset = charset
        self._keeps_ends = keeps_ends
        self._chunk_bytes = chunk_bytes or (_REMOTE_CHUNK_BYTES if "://" in file.path else CHUNK_BYTES)
        self._end = file.end
        self._data = self._rest = b""
        self._start = 0
        self._is_at_end = False
        raw = file.open_raw()
        self._stream = raw
        if not file.is_compressed and charset.has_plain_lines:
            self._seek(raw, position)
        else:
            raw.close()
            self._stream = charset.lines_of(file.open())
            self._skip(position or 0)
        if charset.skips_mark and self._start == 0:
            self._skip_mark()

    def fill(self) -> bool:
        """Make sure that there is a next line; tell whether there is one."""
        while self.index >= len(self.lines):
            if self._is_at_end:
                return False
            self._start += len(self._data)
            self._data = self._cut_at_end(self._read_lines())
            self.index = 0
            self.has_undecodable = False
            self.lines = self._decode(self._data)
        return True

    def take(self, limit: int) -> list[str]:
        """Return the next lines of the chunk, up to so many."""
        index, self.index = self.index, min(self.index + limit, len(self.lines))
        return self.lines[index : self.index]

    def place(self, index: int) -> LinePlace:
        """Return where a line of the current chunk is."""
        return LinePlace(self._start, self._data, index)

    def report(self, place: LinePlace, content: bytes | str, problem: str, cause: Exception | None = None) -> None:
        """Take note of a record that begins at a place and cannot be read.

        Raises:
            MalformedRecordError: It must not be passed over.
        """
        offset = place.offset()
        malformed = self._file.malformed
        position = self._described(offset) if malformed.are_fatal else offset
        malformed.report(self._file.path, position, content, problem, cause)

    def _described(self, offset: int) -> str:
        """Return a position as a person looks for it; counting lines is worth it where the job ends with the error."""
        if offset > _COUNTED_BYTES:
            return f"byte {offset}"
        stream = self._charset.lines_of(self._file.open())
        number, rest = 1, offset
        while rest > 0 and (block := stream.read(min(rest, self._chunk_bytes))):
            number += block[:rest].count(b"\n")
            rest -= len(block)
        stream.close()
        return f"line {number}, byte {offset}"

    def position(self) -> int:
        """Return the offset of the next line."""
        return self.place(self.index).offset() if self.index < len(self.lines) else self._start + len(self._data)

    def close(self) -> None:
        """Release the file."""
        self._stream.close()

    def _seek(self, raw: object, position: int | None) -> None:
        """Go to a line, or to the first one that begins at the start of the range or later."""
        seek, size = raw.seek, raw.size()  # type: ignore[attr-defined]
        if position is not None:
            if position > size:
                message = (
                    f"{self._file.path} was read up to byte {position} before, but now has {size} bytes. "
                    "Files must not change while a job reads them."
                )
                raise JobFailedError(message)
            seek(position)
            self._start = position
        elif self._file.start > 0:
            # The byte before may be the line end behind which the first line begins.
            seek(min(self._file.start - 1, size))
            self._start = self._file.start - 1
            while block := self._read(self._chunk_bytes):
                cut = block.find(b"\n") + 1
                self._start += cut or len(block)
                if cut:
                    self._rest = block[cut:]
                    break

    def _skip(self, count: int) -> None:
        """Read up to a position where it cannot be jumped to."""
        self._start = count
        while count > 0 and (block := self._read(min(count, self._chunk_bytes))):
            count -= len(block)
            if count < 0:
                self._rest = block[count:]

    def _skip_mark(self) -> None:
        while len(self._rest) < len(_MARK) and (block := self._read(self._chunk_bytes)):
            self._rest += block
        if self._rest.startswith(_MARK):
            self._rest = self._rest[len(_MARK) :]
            self._start = len(_MARK)

    def _read(self, size: int) -> bytes:
        try:
            block: bytes = self._stream.read(size)
        except Exception as error:
            damage = damage_of(error) if self._file.is_compressed else None
            if damage is None:
                error.add_note(f"while reading {self._file.path}")
                raise
            self._file.malformed.report(self._file.path, self._start, b"", damage, error)
            return b""
        return block

    def _read_lines(self) -> bytes:
        """Return the next bytes up to a line end; what is left without one at the end of the file."""
        parts = [self._rest]
        self._rest = b""
        while block := self._read(self._chunk_bytes):
            cut = block.rfind(b"\n") + 1
            if cut:
                parts.append(block[:cut])
                self._rest = block[cut:]
                break
            parts.append(block)
        else:
            self._is_at_end = True
        return b"".join(parts)

    def _cut_at_end(self, data: bytes) -> bytes:
        """Leave out the lines that begin behind the range."""
        if self._end is None or self._start + len(data) <= self._end:
            self._is_at_end = self._is_at_end or self._start + len(data) == self._end
            return data
        self._is_at_end = True
        if self._start >= self._end:
            return b""
        cut = data.find(b"\n", self._end - self._start - 1) + 1
        return data[:cut] if cut else data

    def _decode(self, data: bytes) -> list[str]:
        if not self._keeps_ends and b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        try:
            lines = data.decode(self._charset.codec).split("\n")
        except UnicodeDecodeError:
            self.has_undecodable = True
            lines = [self._decode_line(line) for line in data.split(b"\n")]
        last = lines.pop()
        if self._keeps_ends:
            lines = [line + "\n" if line.__class__ is str else line for line in lines]
        if last:
            lines.append(last)
        return lines

    def _decode_line(self, line: bytes) -> str:
        try:
            return line.decode(self._charset.codec)
        except UnicodeDecodeError as error:
            at = error.start
            problem = f"byte {at} of the line is not {self._charset.name} ({error.reason})"
            return UndecodableLine(problem)  # type: ignore[return-value]
