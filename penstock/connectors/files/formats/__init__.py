"""How the bytes of a file become records."""
