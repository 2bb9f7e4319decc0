"""`FileSink` and `StreamingFileSink`: files that appear whole, with the checkpoint that covers their records.

Both are one sink under two names, as Flink's history has it. Both name their files ``part-<subtask>-<number>``; Flink's
own FileSink has a random text in place of the subtask and counts in each bucket from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.files.sink.builder import SinkBuilder, bulk_settings, row_settings
from penstock.vocabulary.sinks.protocol import Delivery, Sink

if TYPE_CHECKING:
    from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
    from penstock.connectors.files.sink.part_storage import PartStorage
    from penstock.connectors.files.sink.rolling_policy import RollingPolicy
    from penstock.connectors.files.sink.settings import SinkSettings
    from penstock.vocabulary.sinks.protocol import Committer, SinkWriter, WriterContext
    from penstock.vocabulary.types.serialization import BulkWriterFactory

__all__ = ["FileSink", "StreamingFileSink"]


class _BucketSink(Sink[Any]):
    """Writes part files into buckets and makes them visible with checkpoints."""

    delivery = Delivery.TRANSACTIONAL
    shares_writer_state = True

    def __init__(self, settings: SinkSettings) -> None:
        self.settings = settings

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Start writing from nothing."""
        from penstock.connectors.files.sink.writer import PartWriter

        return PartWriter(self.settings, *self.open_storage(), context)

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[Any]:
        """Go on with the open files of a checkpoint, and remove those that were begun after it."""
        from penstock.connectors.files.sink.writer import PartWriter

        return PartWriter(self.settings, *self.open_storage(), context, states)

    def create_committer(self, context: WriterContext) -> Committer:
        """Return what gives closed files their names."""
        from penstock.connectors.files.sink.committer import PartCommitter

        return PartCommitter(self.open_storage()[0])

    def open_storage(self) -> tuple[PartStorage, str]:
        """Return the file system of the base path, and the path in it."""
        from penstock.connectors.files.sink.part_storage import part_storage

        return part_storage(self.settings.base_path)


class FileSink(_BucketSink):
    """Writes records into files that appear whole, exactly once, with the checkpoint that covers them.

    Example:
        >>> from penstock.vocabulary.types.serialization import Encoder
        >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    """

    class BaseBuilder(SinkBuilder):
        """The choices of a file sink."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy[Any]) -> Self:
            """Say when a file is closed and the next one begun."""
            return self._with_rolling_policy(rolling_policy)

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Make large files of small ones before they become visible."""
            return self._with_compaction(strategy, compactor)

        def disable_compact(self) -> Self:
            """Leave files as they were written; those that still wait for compaction are finished as they are."""
            return self._with(compaction=None)

        def build(self) -> FileSink:
            """Return the sink."""
            return FileSink(self._built())

    class RowFormatBuilder(BaseBuilder):
        """The choices of a file sink that writes record by record."""

    class BulkFormatBuilder(BaseBuilder):
        """The choices of a file sink that writes in bulk; its files are closed at every checkpoint."""

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> FileSink.RowFormatBuilder:
        """Begin a sink that writes record by record.

        Args:
            base_path: A directory, or the URI of one on any file system that pyarrow reaches.
            encoder: An `Encoder`, an object with ``encode(element)`` or ``encode(element, stream)``, or a function
                from a record to its bytes.
        """
        return FileSink.RowFormatBuilder(row_settings(base_path, encoder))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory[Any]) -> FileSink.BulkFormatBuilder:
        """Begin a sink that writes in bulk, such as Parquet.

        Args:
            base_path: A directory, or the URI of one on any file system that pyarrow reaches.
            writer_factory: Makes the writer of each file.
        """
        return FileSink.BulkFormatBuilder(bulk_settings(base_path, writer_factory))


class StreamingFileSink(_BucketSink):
    """The older name of the file sink, for ``add_sink``; new programs use `FileSink`."""

    class BaseBuilder(SinkBuilder):
        """The choices of a file sink."""

        def with_rolling_policy(self, policy: RollingPolicy[Any]) -> Self:
            """Say when a file is closed and the next one begun."""
            return self._with_rolling_policy(policy)

        def build(self) -> StreamingFileSink:
            """Return the sink."""
            return StreamingFileSink(self._built())

    class DefaultRowFormatBuilder(BaseBuilder):
        """The choices of a file sink that writes record by record."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """The choices of a file sink that writes in bulk; its files are closed at every checkpoint."""

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Begin a sink that writes record by record; see `FileSink.for_row_format`."""
        return StreamingFileSink.DefaultRowFormatBuilder(row_settings(base_path, encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory[Any]
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Begin a sink that writes in bulk; see `FileSink.for_bulk_format`."""
        return StreamingFileSink.DefaultBulkFormatBuilder(bulk_settings(base_path, writer_factory))
