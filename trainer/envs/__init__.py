"""Environments: one file each, and the vector environment that steps thousands of them.

docs/changing.md says how to add one.
"""
