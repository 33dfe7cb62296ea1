"""Processes: which are alive, on which machine, and how others are started."""
