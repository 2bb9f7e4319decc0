"""The operators that join two streams."""
