"""The line of Spark that is known to look as this folder expects."""

from __future__ import annotations

from penstock.errors import ClusterError

__all__ = ["SPARK_VERSION", "check_version"]

SPARK_VERSION = "4.3"


def check_version(version: str) -> None:
    """Refuse a Spark whose plans are not known to look as expected here."""
    if not version.startswith(f"{SPARK_VERSION}."):
        message = (
            f"Penstock needs Spark {SPARK_VERSION}, whose pipelined shuffle it runs on; this is Spark {version}."
            f" Install it with: pip install 'pyspark=={SPARK_VERSION}.*'"
        )
        raise ClusterError(message)
