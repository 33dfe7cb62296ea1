"""What is looked at in a run besides its metrics, at intervals or when someone asks: gradients,
weights, where the time goes, and an episode. Nothing of it costs anything while it is not due.
"""
