"""What travels between subtasks: elements, their encoding, and which subtask each record goes to."""
