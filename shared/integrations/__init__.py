"""Runs of other training loops, in the shapes of wandb, TensorBoard and other libraries."""
