"""Window operators for the common cases."""
