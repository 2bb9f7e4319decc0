"""The operators that read."""
