"""What everything else stands on: clocks, keys, the accelerator, retrying."""
