"""The client library, imported when it is first needed: it is an extra."""

from __future__ import annotations

from typing import Any

from penstock.errors import ProgramError

__all__ = ["library"]


def library() -> Any:
    """Return the package pymysql."""
    try:
        import pymysql
    except ImportError as error:
        message = "MySQL and MariaDB need the package pymysql: pip install 'penstock[mysql]'."
        raise ProgramError(message) from error
    return pymysql
