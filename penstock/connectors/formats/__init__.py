"""Rows as text: what single messages and fields look like."""
