"""Flink's REST interface over what a driver has gathered about its jobs, and a few answers of our own beside it."""
