"""Files as output."""
