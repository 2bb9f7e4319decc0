"""Keyed state in dictionaries."""
