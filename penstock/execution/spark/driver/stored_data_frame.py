"""A DataFrame of the program, stored as files that the subtasks of a job can read and read again."""

from __future__ import annotations

import tempfile
import uuid
import weakref
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import ProgramError
from penstock.foundation.files.by_uri import arrow_files_of
from penstock.foundation.private_directory import private_directory

__all__ = ["StoredDataFrame"]

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


class StoredDataFrame:
    """Stores a DataFrame as Parquet when it is first called; returns the directory.

    The files are removed when the program ends, or when nobody refers to the object any more.

    Args:
        data_frame: A batch DataFrame.
        directory: Where all executors can read; a temporary directory where all of Spark runs on this machine.
        keep_files: Leave the files there, for a job that is to be restored from a savepoint in another program.
    """

    def __init__(self, data_frame: Any, directory: str | None, *, keep_files: bool) -> None:
        if not isinstance(data_frame, DataFrame):
            message = f"from_data_frame() needs a Spark DataFrame, not {type(data_frame).__name__}."
            raise ProgramError(message)
        if data_frame.isStreaming:
            message = "from_data_frame() needs a batch DataFrame; this one is streaming and has no end."
            raise ProgramError(message)
        self._data_frame = data_frame
        self._directory = directory or _temporary_directory(data_frame, keep_files=keep_files)
        self._keeps_files = keep_files
        self._path: str | None = None

    def __call__(self) -> str:
        """Store the rows, the first time, and return the directory they are in."""
        if self._path is None:
            path = f"{self._directory.rstrip('/')}/penstock-data-frame-{uuid.uuid4().hex[:12]}"
            if not self._keeps_files:
                weakref.finalize(self, _remove, path)
            _write(self._data_frame, path)
            self._path = path
        return self._path


def _temporary_directory(data_frame: DataFrame, *, keep_files: bool) -> str:
    master = str(data_frame.sparkSession.sparkContext.master)
    if not master.startswith("local"):
        message = (
            f"from_data_frame() stores the rows in files, and the executors of {master} do not see this machine's "
            "temporary directory. Name one that they can read: from_data_frame(df, directory='s3://bucket/tmp')."
        )
        raise ProgramError(message)
    # What is to be kept must not lie where everything goes with its process.
    return tempfile.gettempdir() if keep_files else str(private_directory("rows"))


def _write(data_frame: DataFrame, path: str) -> None:
    conf = data_frame.sparkSession.conf
    before = str(conf.get(_TIMESTAMPS))
    # Spark's own form of timestamps does not say whether they are instants; this one does.
    conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        data_frame.write.parquet(path)
    finally:
        conf.set(_TIMESTAMPS, before)


def _remove(path: str) -> None:
    try:
        file_system, place = arrow_files_of(path)
        file_system.delete_dir(place)
    except OSError:
        return  # it was never written, or is gone
