"""The job graph: frozen nodes and specs, the plan of chains and stages, and its explanation."""
