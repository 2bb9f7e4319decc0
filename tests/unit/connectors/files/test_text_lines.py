"""Lines of text files: every line once and in order, whatever the chunks, the ranges and the interruptions are."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from pathlib import Path
from unittest import mock

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import MalformedRecordError, ProgramError
from penstock.connectors.files.formats import line_cursor
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.errors import JobFailedError
from tests.unit.connectors.files.reading import Collected, input_file, records_of, resumed_everywhere

TEXT = StreamFormat.text_line_format()
LATIN = StreamFormat.text_line_format("latin-1")

# Every byte means a character of Latin-1; line ends are frequent, and so is everything str.splitlines() would cut at.
contents = st.lists(
    st.sampled_from([b"a", b"bc", b"\n", b"\n\n", b"\r\n", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xe2\x80\xa8"]),
    max_size=40,
).map(b"".join)


def lines_by_the_rule(content: bytes) -> list[str]:
    """A line ends with \\n or \\r\\n; a last line without an end is a line if it is not empty."""
    lines = re.split(rb"\r?\n", content)
    if lines[-1] == b"":
        lines.pop()
    return [line.decode("latin-1") for line in lines]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "content.txt"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\rb\n", ["a\rb"]),
        ("tschüß\u2028x\u0085y\n语\n".encode(), ["tschüß\u2028x\u0085y", "语"]),
    ],
)
def test_lines(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert records_of(TEXT, input_file(path)) == lines


@settings(deadline=None)
@given(content=contents, chunk=st.integers(1, 30), limit=st.integers(1, 7))
def test_chunks_do_not_matter(place: Path, content: bytes, chunk: int, limit: int) -> None:
    place.write_bytes(content)
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        assert records_of(LATIN, input_file(place), limit=limit) == lines_by_the_rule(content)


@settings(deadline=None)
@given(content=contents, cuts=st.lists(st.integers(0, 60), max_size=6), chunk=st.integers(1, 30))
def test_each_line_belongs_to_the_range_in_which_it_begins(
    place: Path, content: bytes, cuts: list[int], chunk: int
) -> None:
    place.write_bytes(content)
    bounds = sorted({cut for cut in cuts if 0 < cut < len(content)})
    begins = [0, *(match.end() for match in re.finditer(rb"\n", content))]
    lines = dict(zip(begins, lines_by_the_rule(content), strict=False))
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        for start, end in zip([0, *bounds], [*bounds, None], strict=True):
            expected = [line for at, line in lines.items() if start <= at and (end is None or at < end)]
            assert records_of(LATIN, input_file(place, start, end)) == expected


@settings(deadline=None)
@given(content=contents, chunk=st.integers(1, 30), limit=st.integers(1, 3))
def test_reading_goes_on_behind_the_last_line_handed_out(place: Path, content: bytes, chunk: int, limit: int) -> None:
    place.write_bytes(content)
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        for run in resumed_everywhere(LATIN, place, limit=limit):
            assert run == lines_by_the_rule(content)


def test_the_position_is_the_byte_behind_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("ä\r\nbc\nd".encode())
    reader = TEXT.create_reader(input_file(path), None)
    positions = [reader.position()]
    while reader.read(1):
        positions.append(reader.position())
    assert positions == [0, 4, 7, 8]
    reader.close()


def compressed(suffix: str, data: bytes) -> bytes:
    if suffix == "zst":
        sink = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        return bytes(sink.getvalue())
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[suffix](data)


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "xz"])
def test_compressed_files_are_known_by_their_suffix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.txt.{suffix}"
    lines = [f"line {number}" for number in range(500)]
    path.write_bytes(compressed(suffix, "\n".join(lines).encode()))
    with mock.patch.object(line_cursor, "CHUNK_BYTES", 1000):
        assert records_of(TEXT, input_file(path)) == lines
        for run in resumed_everywhere(TEXT, path, limit=77):
            assert run == lines


def test_files_may_consist_of_several_compressed_ones(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"a\nb\n") + gzip.compress(b"c\n"))
    assert records_of(TEXT, input_file(path)) == ["a", "b", "c"]
    path = tmp_path / "log.zst"
    path.write_bytes(compressed("zst", b"a\nb\n") + compressed("zst", b"c\n"))
    assert records_of(TEXT, input_file(path)) == ["a", "b", "c"]


@pytest.mark.parametrize("suffix", ["gz", "zst", "bz2", "xz"])
def test_damaged_compressed_files_are_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.{suffix}"
    data = "\n".join(f"{number * 7919 % 1000}" for number in range(10_000)).encode()
    path.write_bytes(compressed(suffix, data)[:-40])
    with pytest.raises(MalformedRecordError, match=f"log.{suffix}"):
        records_of(TEXT, input_file(path))
    side = Collected()
    records_of(TEXT, input_file(path, side=side))
    assert len(side.records) == 1
    assert "cut off" in side.records[0].problem


@pytest.mark.parametrize("charset", ["UTF-16", "utf-16-le", "UTF-32", "gb18030", "shift_jis", "utf-8-sig", "cp1252"])
def test_charsets(tmp_path: Path, charset: str) -> None:
    lines = ["first", "", "zweite" if charset != "shift_jis" else "二", "last"]
    path = tmp_path / "file"
    path.write_bytes("\r\n".join(lines).encode(charset))
    file_format = StreamFormat.text_line_format(charset)
    with mock.patch.object(line_cursor, "CHUNK_BYTES", 3):
        assert records_of(file_format, input_file(path)) == lines
        for run in resumed_everywhere(file_format, path):
            assert run == lines


def test_only_charsets_with_plain_line_ends_can_be_divided() -> None:
    assert TEXT.is_splittable
    assert LATIN.is_splittable
    assert not StreamFormat.text_line_format("UTF-16").is_splittable


def test_an_unknown_charset_is_refused_at_once() -> None:
    with pytest.raises(ProgramError, match="klingon"):
        StreamFormat.text_line_format("klingon")


def test_an_undecodable_line_fails_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"good\nbad \xff\xfe\ngood\n")
    with pytest.raises(MalformedRecordError) as caught:
        records_of(TEXT, input_file(path))
    assert caught.value.origin == str(path)
    assert caught.value.position == "line 2, byte 5"
    assert caught.value.content == b"bad \xff\xfe"


@settings(deadline=None)
@given(
    lines=st.lists(st.sampled_from([b"ok", "ü".encode(), b"\xff", b"a\xc3", b""]), max_size=12),
    chunk=st.integers(1, 20),
    limit=st.integers(1, 4),
)
def test_undecodable_lines_go_to_the_side_output_once_and_in_order(
    place: Path, lines: list[bytes], chunk: int, limit: int
) -> None:
    place.write_bytes(b"".join(line + b"\n" for line in lines))
    bad = {b"\xff", b"a\xc3"}
    offsets = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    with mock.patch.object(line_cursor, "CHUNK_BYTES", chunk):
        side = Collected()
        good = records_of(TEXT, input_file(place, side=side), limit=limit)
    assert good == [line.decode() for line in lines if line not in bad]
    assert [(record.position, record.content) for record in side.records] == [
        (offset, line) for offset, line in zip(offsets, lines, strict=True) if line in bad
    ]


def test_undecodable_utf_16_is_malformed_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("ok\n".encode("utf-16-le") + b"\x00\xd8" + "x\nend\n".encode("utf-16-le"))
    side = Collected()
    assert records_of(StreamFormat.text_line_format("utf-16-le"), input_file(path, side=side)) == ["ok", "end"]
    assert len(side.records) == 1


def test_a_file_that_has_shrunk_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n")
    with pytest.raises(JobFailedError, match="must not change"):
        TEXT.create_reader(input_file(path), 100)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n")
    file = input_file(path)
    path.unlink()
    with pytest.raises(JobFailedError, match="is gone"):
        TEXT.create_reader(file, None)
