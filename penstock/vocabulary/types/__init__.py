"""The types of records and of state."""
