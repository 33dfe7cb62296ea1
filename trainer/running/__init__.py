"""Runs an experiment in a process: the loop, signals, telemetry, pages, and the ends of runs."""
