"""What a sink is."""
