"""Real servers for tests: taken from Debian, started on loopback with a directory of their own, gone at the end."""
