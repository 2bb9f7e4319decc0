"""Which keys are one key, and which subtask owns it."""
