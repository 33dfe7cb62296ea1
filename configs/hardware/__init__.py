"""Overlays that fit an experiment to a machine: sizes and precision, and nothing else."""
