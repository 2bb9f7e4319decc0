"""What a source is."""
