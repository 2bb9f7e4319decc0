"""Ends a server when the tests that started it have ended, however they ended.

The tests write the server's process id, or 0 when they have stopped it themselves, each on a line of its own. The pipe
ends when they do, also by ``kill -9``: whatever runs then is ended, and the directory is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys

if __name__ == "__main__":
    process = 0
    for line in sys.stdin:
        process = int(line)
    if process:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
