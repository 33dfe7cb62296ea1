"""Memory of transitions: rollouts and their minibatches, and replay."""
