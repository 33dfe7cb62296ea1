"""Returns and advantages: pure functions of a rollout."""
