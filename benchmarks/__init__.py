"""How fast litmus is, against what this machine could do: `make bench`."""
