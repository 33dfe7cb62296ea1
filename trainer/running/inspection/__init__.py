"""Looks closer at a run than its metrics do, at intervals or when someone asks: gradients,
weights, where the time goes, and an episode. Nothing of it costs anything while it is not due.
"""
