"""What runs in one Spark task: the loop, its subtasks, and their chains of operators."""
