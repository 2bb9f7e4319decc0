"""The fluent API: the execution environment and the streams it hands out."""
