"""Builds the parts of a run from its configuration, and executes its iterations."""
