"""Ways to run a planned job."""
