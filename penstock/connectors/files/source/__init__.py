"""Files as input."""
