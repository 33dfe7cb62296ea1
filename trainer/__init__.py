"""The trainer: environments, policies, algorithms and the loop. Never textual."""
