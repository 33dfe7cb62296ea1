"""Reads runs and machines, and lists them; nothing here draws."""
