"""What the builders of file sinks put together, and writers and committers work by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.sink.bucket_assigner import DateTimeBucketAssigner
from penstock.connectors.files.sink.part_names import OutputFileConfig

if TYPE_CHECKING:
    from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
    from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
    from penstock.connectors.files.sink.part_format import PartFormat
    from penstock.connectors.files.sink.rolling_policy import RollingPolicy

__all__ = ["SinkSettings"]


@dataclass(frozen=True)
class SinkSettings:
    """Everything about a file sink."""

    base_path: str
    part_format: PartFormat
    rolling_policy: RollingPolicy[Any]
    bucket_assigner: BucketAssigner[Any] = field(default_factory=DateTimeBucketAssigner)
    bucket_check_interval: int = 60 * 1000
    output_file_config: OutputFileConfig = field(default_factory=lambda: OutputFileConfig("part", ""))
    compaction: tuple[FileCompactStrategy, FileCompactor] | None = None
    lineage: str = ""
    """Random, and the same for all attempts of one run of the program."""
