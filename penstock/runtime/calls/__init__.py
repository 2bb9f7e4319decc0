"""How functions of the program are called, and what they return is handed on."""
