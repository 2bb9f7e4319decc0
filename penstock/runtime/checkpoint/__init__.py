"""A subtask's part in checkpoints: barriers, snapshots, and the way back."""
