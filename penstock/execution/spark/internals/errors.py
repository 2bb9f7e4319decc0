"""What PySpark raises when something fails on Spark's side: its own errors and those of py4j."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

__all__ = ["SPARK_ERRORS"]

SPARK_ERRORS = (Py4JError, PySparkException)
