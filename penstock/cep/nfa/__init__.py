"""What Flink keeps beside its automaton."""
