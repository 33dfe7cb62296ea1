"""The list of runs: its order, filter and groups."""
