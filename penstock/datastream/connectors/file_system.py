"""Files as input and output, at the place PyFlink gives them."""

from penstock.connectors.files.formats.avro import AvroFormat
from penstock.connectors.files.formats.bulk import BulkFormat, BulkReader
from penstock.connectors.files.formats.columnar import OrcFormat, ParquetFormat
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.stream import (
    JsonLinesFormat,
    LineFormat,
    SimpleStreamFormat,
    StreamFormat,
    TextLineFormat,
)
from penstock.connectors.files.sink.bucket_assigner import (
    BasePathBucketAssigner,
    BucketAssigner,
    BucketContext,
    DateTimeBucketAssigner,
)
from penstock.connectors.files.sink.bulk_writers.compressed import CompressWriterFactory
from penstock.connectors.files.sink.compaction import (
    ConcatFileCompactor,
    FileCompactor,
    FileCompactStrategy,
    IdenticalFileCompactor,
    OutputStreamBasedFileCompactor,
    RecordWiseFileCompactor,
)
from penstock.connectors.files.sink.encoder import CsvEncoder, JsonLinesEncoder
from penstock.connectors.files.sink.part_names import OutputFileConfig
from penstock.connectors.files.sink.rolling_policy import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    DefaultRollingPolicyBuilder,
    OnCheckpointRollingPolicy,
    PartFileInfo,
    RollingPolicy,
)
from penstock.connectors.files.sink.sink import FileSink, StreamingFileSink
from penstock.connectors.files.source.enumerator import FileEnumerator, FileEnumeratorProvider
from penstock.connectors.files.source.input_file import InputFile
from penstock.connectors.files.source.reader import FileReader
from penstock.connectors.files.source.source import FileSource, FileSourceBuilder
from penstock.connectors.files.source.splits import FileSourceSplit, FileSplitAssigner, FileSplitAssignerProvider

__all__ = [
    "AvroFormat",
    "BasePathBucketAssigner",
    "BucketAssigner",
    "BucketContext",
    "BulkFormat",
    "BulkReader",
    "CheckpointRollingPolicy",
    "CompressWriterFactory",
    "ConcatFileCompactor",
    "CsvEncoder",
    "CsvFormat",
    "DateTimeBucketAssigner",
    "DefaultRollingPolicy",
    "DefaultRollingPolicyBuilder",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumerator",
    "FileEnumeratorProvider",
    "FileReader",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSourceSplit",
    "FileSplitAssigner",
    "FileSplitAssignerProvider",
    "IdenticalFileCompactor",
    "InputFile",
    "JsonLinesEncoder",
    "JsonLinesFormat",
    "LineFormat",
    "OnCheckpointRollingPolicy",
    "OrcFormat",
    "OutputFileConfig",
    "OutputStreamBasedFileCompactor",
    "ParquetFormat",
    "PartFileInfo",
    "RecordWiseFileCompactor",
    "RollingPolicy",
    "SimpleStreamFormat",
    "StreamFormat",
    "StreamingFileSink",
    "TextLineFormat",
]
