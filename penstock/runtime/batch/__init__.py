"""How one subtask behaves in batch: input grouped by key, one key after the other, final results only."""
