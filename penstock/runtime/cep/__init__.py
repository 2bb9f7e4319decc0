"""Matching patterns of events."""
