"""Event time: timestamps, watermarks, durations."""
