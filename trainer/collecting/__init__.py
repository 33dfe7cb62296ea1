"""Collects rollouts: step by step, in groups, in slices over threads, compiled, or on a GPU."""
