"""Windows: which there are, when they are evaluated, what is taken out of them."""
