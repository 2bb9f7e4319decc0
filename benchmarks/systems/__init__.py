"""One program per system; each runs in its own interpreter as ``python -m benchmarks.systems.<name>``."""
