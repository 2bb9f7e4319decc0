"""File systems: the local one, and those that are reached by a URI."""
