"""Benchmarks: the same jobs on penstock, on hand-written Python and on what users would pick instead."""
