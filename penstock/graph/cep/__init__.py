"""Patterns of events as automata."""
