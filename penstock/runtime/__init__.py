"""The runtime of one subtask, in pure Python: elements, operators, chains, timers and the loop that drives them."""
