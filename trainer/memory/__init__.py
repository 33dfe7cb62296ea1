"""What algorithms learn from: rollouts and their minibatches, and replay."""
