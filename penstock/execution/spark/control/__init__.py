"""The control channel between the driver and the tasks: its messages and both of its ends."""
