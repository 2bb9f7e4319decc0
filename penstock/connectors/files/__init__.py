"""Files as input and output."""
