"""The operators that write."""
