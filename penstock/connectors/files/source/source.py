"""The source of files, read once or watched for new ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.files.formats.bulk import BulkFormat
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source.compression import is_compressed
from penstock.connectors.files.source.enumerator import FileEnumerator
from penstock.connectors.files.source.input_file import InputFile
from penstock.connectors.files.source.malformed import MalformedRecords
from penstock.connectors.files.source.reader import FilesReader
from penstock.connectors.files.source.splits import FileSourceSplit, FileSplitAssigner
from penstock.errors import ProgramError
from penstock.foundation.clock import Clock, SystemClock
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from penstock.vocabulary.time.durations import Duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.connectors.files.source.listing import FoundFile
    from penstock.vocabulary.sources.protocol import MalformedRecord

__all__ = ["FileSource", "FileSourceBuilder"]

T = TypeVar("T")

_SETTLING_MILLIS = 1000


@dataclass(frozen=True)
class _Settings:
    format: Any
    paths: tuple[str, ...]
    enumerator: FileEnumerator = field(default_factory=FileEnumerator)
    assigner: FileSplitAssigner = field(default_factory=FileSplitAssigner)
    discovery_interval: int | None = None
    settling_millis: int = _SETTLING_MILLIS
    malformed_tag: OutputTag[MalformedRecord] | None = None


class FileSource(Source[T]):
    """Reads files. What it reads is a format's affair; where, a path's or a URI's of any ``pyarrow.fs`` file system.

    Files and ranges of big files are dealt out to the subtasks. Each reads what it was given one after the other, in
    order, and its position is in every checkpoint.
    """

    def __init__(self, settings: Any, clock: Clock | None = None) -> None:
        self._settings: _Settings = settings
        self._clock = clock or SystemClock()
        self._lanes = 1
        self.discovery_interval = settings.discovery_interval
        is_static = settings.discovery_interval is None
        self.boundedness = Boundedness.BOUNDED if is_static else Boundedness.CONTINUOUS_UNBOUNDED

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[Any], *paths: str) -> FileSourceBuilder:
        """Begin a source of files that are read record by record: text, CSV, JSON lines, formats of your own."""
        require_instance(
            stream_format,
            StreamFormat,
            "for_record_stream_format() needs a StreamFormat, for example StreamFormat.text_line_format().",
        )
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[Any], *paths: str) -> FileSourceBuilder:
        """Begin a source of files that are read in batches: Parquet, ORC, Avro, formats of your own."""
        require_instance(
            bulk_format, BulkFormat, "for_bulk_file_format() needs a BulkFormat, for example ParquetFormat()."
        )
        return FileSourceBuilder(bulk_format, paths)

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Find the files and deal them out."""
        self._lanes = parallelism
        files = self._settings.enumerator.enumerate_files(self._settings.paths)
        return self._deal(self._settled(files), parallelism)

    def discover_splits(self, known: Sequence[SourceSplit]) -> Sequence[SourceSplit]:
        """Find the files that have come since."""
        if self.discovery_interval is None:
            return ()
        seen = {split.path for each in known for split in each.detail.splits}
        lanes = max((each.detail.lanes for each in known), default=self._lanes)
        files = self._settings.enumerator.enumerate_files(self._settings.paths)
        return self._deal(self._settled([file for file in files if file.path not in seen]), lanes)

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start reading files."""
        malformed = MalformedRecords(context, self._settings.malformed_tag)
        create_reader = self._settings.format.create_reader
        return FilesReader(
            split.detail.splits,
            lambda file, place: create_reader(InputFile(file, malformed), place),
            position,
        )

    def _settled(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Leave out files that may still be written; they are found again later."""
        if self.discovery_interval is None:
            return list(files)
        latest = self._clock.now() - self._settings.settling_millis
        return [file for file in files if file.modified <= latest]

    def _deal(self, files: Iterable[FoundFile], lanes: int) -> list[SourceSplit]:
        splits = [split for file in files for split in self._ranges(file, lanes)]
        dealt = self._settings.assigner.assign(splits, lanes)
        return [SourceSplit(_name(lane), _Lane(tuple(lane), lanes)) for lane in dealt if lane]

    def _ranges(self, file: FoundFile, lanes: int) -> list[FileSourceSplit]:
        whole = FileSourceSplit(file.path, file.size)
        enumerator = self._settings.enumerator
        if not enumerator.divides_files or not self._settings.format.is_splittable or is_compressed(file.path):
            return [whole]
        return whole.divided(max(1, min(lanes, file.size // max(1, enumerator.smallest_range))))


@dataclass(frozen=True)
class _Lane:
    """What one subtask reads, one after the other."""

    splits: tuple[FileSourceSplit, ...]
    lanes: int
    """Over how many subtasks files are divided."""


def _name(lane: Sequence[FileSourceSplit]) -> str:
    return str(lane[0]) if len(lane) == 1 else f"{lane[0]} and {len(lane) - 1} more"


class FileSourceBuilder:
    """Collects the settings of a file source."""

    def __init__(self, file_format: Any, paths: Sequence[str]) -> None:
        if not paths:
            message = "A file source needs at least one path."
            raise ProgramError(message)
        self._settings = _Settings(file_format, tuple(str(path) for path in paths))

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Look for new files again and again; the source never ends. A file is read once, however it changes later."""
        require_instance(
            discovery_interval, Duration, "monitor_continuously() needs a Duration, e.g. Duration.of_seconds(10)."
        )
        millis = discovery_interval.to_millis()
        if millis <= 0:
            message = "monitor_continuously(): the interval must be positive."
            raise ProgramError(message)
        return self._with(discovery_interval=millis)

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end; this is so unless said otherwise."""
        return self._with(discovery_interval=None)

    def set_file_enumerator(self, file_enumerator: FileEnumerator) -> FileSourceBuilder:
        """Set which files are read and whether big ones are divided over the subtasks."""
        require_instance(
            file_enumerator, FileEnumerator, "set_file_enumerator() needs an enumerator of FileEnumeratorProvider."
        )
        return self._with(enumerator=file_enumerator)

    def set_split_assigner(self, split_assigner: FileSplitAssigner) -> FileSourceBuilder:
        """Set how files are dealt out to the subtasks."""
        require_instance(
            split_assigner, FileSplitAssigner, "set_split_assigner() needs an assigner of FileSplitAssignerProvider."
        )
        return self._with(assigner=split_assigner)

    def with_settling_time(self, settling_time: Duration) -> FileSourceBuilder:
        """Set for how long a file of a monitored directory must lie unchanged before it is read; one second if not set.

        A file that is written for longer must get its name when it is complete, or have a hidden name until then.
        """
        require_instance(settling_time, Duration, "with_settling_time() needs a Duration, e.g. Duration.of_seconds(5).")
        return self._with(settling_millis=settling_time.to_millis())

    def with_malformed_records_to(self, output_tag: OutputTag[MalformedRecord]) -> FileSourceBuilder:
        """Send what cannot be read to a side output, as ``MalformedRecord``; otherwise the first one fails the job."""
        require_instance(output_tag, OutputTag, "with_malformed_records_to() needs an OutputTag('malformed').")
        return self._with(malformed_tag=output_tag)

    def build(self) -> FileSource[Any]:
        """Return the source."""
        return FileSource(self._settings)

    def _with(self, **settings: Any) -> FileSourceBuilder:
        self._settings = replace(self._settings, **settings)
        return self
