"""The trainer: environments, policies, algorithms and the loop. Never textual.

`running/loop.py` is the main loop; docs/trainer.md says what every other file and folder here is.
"""
