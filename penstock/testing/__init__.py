"""Running jobs in one process with a manual clock, for tests."""
