"""Thousands of damaged runs and malformed command lines: `make fuzz`, and a few in the suite."""
