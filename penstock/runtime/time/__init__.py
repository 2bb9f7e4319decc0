"""Event time and processing time in a subtask: watermarks, timers, callbacks."""
