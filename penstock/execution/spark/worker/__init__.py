"""What runs inside a Spark task: one task of a stage, its input, its output and its end."""
