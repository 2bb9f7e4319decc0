"""Reads files for tests: all splits of a source, or one range, with stops and resumptions where a test wants them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from penstock import OutputTag
from penstock.connectors.files.source.input_file import InputFile
from penstock.connectors.files.source.malformed import MalformedRecords
from penstock.connectors.files.source.source import FileSource
from penstock.connectors.files.source.splits import FileSourceSplit
from penstock.vocabulary.sources.protocol import ReaderContext, Source

TAG = OutputTag("malformed")


class Collected:
    """The side outputs of a reader."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def context(self, subtask: int = 0, parallelism: int = 1) -> ReaderContext:
        return ReaderContext(subtask, parallelism, side_output=lambda _, records: self.records.extend(records))


def input_file(path: Path, start: int = 0, end: int | None = None, *, side: Collected | None = None) -> InputFile:
    """A file, or a range of it; unreadable records fail unless there is a side output for them."""
    malformed = MalformedRecords(ReaderContext(0, 1)) if side is None else MalformedRecords(side.context(), TAG)
    return InputFile(FileSourceSplit(str(path), path.stat().st_size, start, end), malformed)


def records_of(file_format: Any, file: InputFile, *, limit: int = 1000, position: Any = None) -> list[Any]:
    """All records of a file from a position on."""
    reader = file_format.create_reader(file, position)
    found: list[Any] = []
    while (records := reader.read(limit)) is not None:
        assert 0 < len(records) <= limit
        found += records
    assert reader.read(limit) is None
    reader.close()
    return found


def resumed_everywhere(file_format: Any, path: Path, *, limit: int = 1) -> list[list[Any]]:
    """What is read before and after each place where reading is interrupted and begun anew from the position."""
    reader = file_format.create_reader(input_file(path), None)
    read: list[Any] = []
    runs = []
    while True:
        position = pickle.loads(pickle.dumps(reader.position()))
        runs.append(read + records_of(file_format, input_file(path), position=position))
        records = reader.read(limit)
        if records is None:
            reader.close()
            return runs
        read += records


def source_records(source: Source[Any], parallelism: int = 1, *, side: Collected | None = None) -> list[list[Any]]:
    """The records of each split of a source."""
    found = []
    for number, split in enumerate(source.create_splits(parallelism)):
        context = (side or Collected()).context(number % parallelism, parallelism)
        reader = source.open_split(pickle.loads(pickle.dumps(split)), None, context)
        records: list[Any] = []
        while (read := reader.read(100)) is not None:
            records += read[0]
        reader.close()
        found.append(records)
    return found


def lines_source(*paths: Any, **settings: Any) -> FileSource[str]:
    """The source of text files."""
    from penstock.connectors.files.formats.stream import StreamFormat

    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths)
    for name, value in settings.items():
        builder = getattr(builder, name)(value)
    return builder.build()
