"""Keyed state backends and their key groups."""
