"""Files as input and output, at the place PyFlink gives them."""

from penstock.connectors.files.avro_format import AvroFormat
from penstock.connectors.files.bucket_assigner import (
    BasePathBucketAssigner,
    BucketAssigner,
    BucketContext,
    DateTimeBucketAssigner,
)
from penstock.connectors.files.bulk_format import BulkFormat, BulkReader
from penstock.connectors.files.bulk_writer_compress import CompressWriterFactory
from penstock.connectors.files.compaction import (
    ConcatFileCompactor,
    FileCompactor,
    FileCompactStrategy,
    IdenticalFileCompactor,
    OutputStreamBasedFileCompactor,
    RecordWiseFileCompactor,
)
from penstock.connectors.files.csv_format import CsvFormat
from penstock.connectors.files.encoder import CsvEncoder, JsonLinesEncoder
from penstock.connectors.files.file_enumerator import FileEnumerator, FileEnumeratorProvider
from penstock.connectors.files.file_reader import FileReader
from penstock.connectors.files.file_source import FileSource, FileSourceBuilder
from penstock.connectors.files.file_source_split import FileSourceSplit
from penstock.connectors.files.input_file import InputFile
from penstock.connectors.files.json_lines_format import JsonLinesFormat
from penstock.connectors.files.line_format import LineFormat
from penstock.connectors.files.orc_format import OrcFormat
from penstock.connectors.files.parquet_format import ParquetFormat
from penstock.connectors.files.part_names import OutputFileConfig
from penstock.connectors.files.rolling_policy import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    DefaultRollingPolicyBuilder,
    OnCheckpointRollingPolicy,
    PartFileInfo,
    RollingPolicy,
)
from penstock.connectors.files.sink import FileSink, StreamingFileSink
from penstock.connectors.files.split_assigner import FileSplitAssigner, FileSplitAssignerProvider
from penstock.connectors.files.stream_format import SimpleStreamFormat, StreamFormat
from penstock.connectors.files.text_line_format import TextLineFormat

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
