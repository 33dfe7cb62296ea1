"""Sweeps as lines and pictures."""
