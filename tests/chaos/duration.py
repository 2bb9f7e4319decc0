"""How long the tests go on that kill things at random.

``PENSTOCK_CHAOS_SECONDS=600 make chaos`` is for whoever looks for the fault that comes once a night. Without it, each
test goes on for as long as it takes to survive a few.
"""

from __future__ import annotations

import os

__all__ = ["SECONDS"]

SECONDS = float(os.environ.get("PENSTOCK_CHAOS_SECONDS", "15"))
