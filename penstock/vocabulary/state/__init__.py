"""State as a program describes, sees and keeps it."""
