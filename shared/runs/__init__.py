"""Runs and sweeps on disk: their folders, notes, state and removal."""
