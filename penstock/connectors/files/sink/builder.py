"""The choices that all file sinks offer, and the checks that they fit together."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.compaction import ConcatFileCompactor, RecordWiseFileCompactor
from penstock.connectors.files.sink.encoder import as_encoder
from penstock.connectors.files.sink.part_format import BulkParts, RowParts
from penstock.connectors.files.sink.part_names import OutputFileConfig
from penstock.connectors.files.sink.rolling_policy import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.connectors.files.sink.settings import SinkSettings
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.types.serialization import BulkWriterFactory

if TYPE_CHECKING:
    from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["SinkBuilder", "bulk_settings", "row_settings"]


def row_settings(base_path: object, encoder: Any) -> SinkSettings:
    """Return the settings of a sink that writes record by record."""
    return SinkSettings(_absolute(base_path), RowParts(as_encoder(encoder)), DefaultRollingPolicy())


def bulk_settings(base_path: object, writer_factory: BulkWriterFactory[Any]) -> SinkSettings:
    """Return the settings of a sink that writes in bulk."""
    require_instance(writer_factory, BulkWriterFactory, "A bulk format is written by a BulkWriterFactory.")
    return SinkSettings(_absolute(base_path), BulkParts(writer_factory), OnCheckpointRollingPolicy())


def _absolute(base_path: object) -> str:
    """Return a location that means the same where the job runs as where the program runs."""
    location = str(base_path)
    return location if location.startswith("file:") or "://" in location else str(Path(location).absolute())


class SinkBuilder:
    """Collects the settings of a file sink."""

    def __init__(self, settings: SinkSettings) -> None:
        """Begin with the settings that every sink of the format has."""
        self._settings = settings

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner[Any]) -> Self:
        """Choose the bucket of each record; one for each hour of processing time unless told otherwise."""
        require_instance(bucket_assigner, BucketAssigner, "Buckets are chosen by a BucketAssigner.")
        return self._with(bucket_assigner=bucket_assigner)

    def with_bucket_check_interval(self, interval: TimeLength) -> Self:
        """Say how often files are closed that are open or idle for too long; every minute unless told otherwise."""
        millis = to_millis(interval)
        if millis <= 0:
            message = f"The bucket check interval is {millis} milliseconds; it must be more than 0."
            raise ProgramError(message)
        return self._with(bucket_check_interval=millis)

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Choose the prefix and the suffix of the files' names."""
        require_instance(output_file_config, OutputFileConfig, "Prefix and suffix are given by an OutputFileConfig.")
        return self._with(output_file_config=output_file_config)

    def _with_rolling_policy(self, policy: RollingPolicy[Any]) -> Self:
        require_instance(policy, RollingPolicy, "When files are closed is said by a RollingPolicy.")
        if isinstance(self._settings.part_format, BulkParts) and not isinstance(policy, CheckpointRollingPolicy):
            message = (
                f"A bulk format cannot be written with {type(policy).__name__}: such a file cannot be continued after "
                "a restart, so it must be closed at every checkpoint. Use RollingPolicy.on_checkpoint_rolling_policy() "
                "or extend CheckpointRollingPolicy."
            )
            raise ProgramError(message)
        return self._with(rolling_policy=policy)

    def _with_compaction(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
        factory = getattr(self._settings.part_format, "factory", None)
        if isinstance(compactor, RecordWiseFileCompactor) and compactor.reader is None:
            reader = getattr(factory, "read_records", None)
            if reader is None:
                message = "Say how the records are read back: FileCompactor.record_wise_file_compactor(reader)."
                raise ProgramError(message)
            compactor = RecordWiseFileCompactor(reader)
        if isinstance(compactor, ConcatFileCompactor) and getattr(factory, "is_one_piece", False):
            message = (
                f"Files of {type(factory).__name__} cannot be put one behind the other; "
                "use FileCompactor.record_wise_file_compactor()."
            )
            raise ProgramError(message)
        return self._with(compaction=(strategy, compactor))

    def _with(self, **changes: Any) -> Self:
        self._settings = replace(self._settings, **changes)
        return self

    def _built(self) -> SinkSettings:
        return replace(self._settings, lineage=uuid.uuid4().hex)
