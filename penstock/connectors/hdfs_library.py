"""Looks for the library that pyarrow needs for HDFS; pyarrow itself tries a hundred places and names them all.

pyarrow reaches HDFS through Hadoop's ``libhdfs``, which comes with Hadoop and runs a Java machine in this process.
"""

from __future__ import annotations

import os
from ctypes.util import find_library
from pathlib import Path

__all__ = ["HDFS_SCHEMES", "check_hdfs_library", "first_line"]

HDFS_SCHEMES = frozenset({"hdfs", "viewfs"})
_NAMES = ("libhdfs.so", "libhdfs.dylib", "hdfs.dll")
_REMEDY = (
    "Install Hadoop's client on the driver and on all executors, and set HADOOP_HOME (or ARROW_LIBHDFS_DIR to the"
    " directory of libhdfs), JAVA_HOME, and CLASSPATH to what `hadoop classpath --glob` prints."
)


def check_hdfs_library() -> None:
    """Raises ``OSError``, with what to install, where there is no libhdfs."""
    directories = [Path()]
    if named := os.environ.get("ARROW_LIBHDFS_DIR"):
        directories.append(Path(named))
    if home := os.environ.get("HADOOP_HOME"):
        directories.append(Path(home, "lib", "native"))
    directories += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    if find_library("hdfs") is None and not any((each / name).is_file() for each in directories for name in _NAMES):
        message = f"HDFS needs Hadoop's library libhdfs, which is not here. {_REMEDY}"
        raise OSError(message)


def first_line(error: BaseException) -> str:
    """Returns what pyarrow says without the list of all places where it has looked for a library."""
    line, _, rest = str(error).partition("\n")
    return f"{line}. {_REMEDY}" if "dlopen(" in rest or "libjvm" in line or "libhdfs" in line else str(error)
