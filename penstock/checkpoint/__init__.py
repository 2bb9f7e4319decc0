"""Checkpoint coordination and barrier alignment as pure state machines, and the snapshot format."""
