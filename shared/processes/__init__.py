"""Processes: who is alive, on which machine, and how another one is started."""
