"""Reads runs, alive and ended."""
