"""The functions that a program is made of, and what they may ask for."""
