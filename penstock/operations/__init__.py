"""Operating jobs: what a driver knows of its jobs, where they are registered, and how they are steered from outside."""
