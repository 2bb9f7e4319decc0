"""Runs the command line of ``python -m penstock.savepoints``."""

from __future__ import annotations

import sys

from penstock.savepoints.terminal import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
