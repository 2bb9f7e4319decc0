"""Tells why a job failed, or gives no output."""
