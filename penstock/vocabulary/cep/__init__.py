"""Patterns of events: what a program says about them."""
