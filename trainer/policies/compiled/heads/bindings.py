"""The three functions that every distribution has, as loops over rollouts and samples call them.

`outputs[row, :n]` float32 are all outputs of the actor for one sample, `table` the numbers that the
distribution is made with.
"""

from __future__ import annotations

from ....jit.templates import declared


@declared
def sample(outputs, row, n, table, random, place, actions, env_actions):
    """Draw an action with the numbers of `random`, as `uniform_at` takes it; write it to
    `actions[place]` and, as the environment takes it, to `env_actions[place]`. Returns its
    log-probability, float32.
    """


@declared
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    """Log-probability of `actions[place]` and entropy, both float32."""


@declared
def head_backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    """Write the loss's derivative by the outputs to `delta[row, :n]`, given those by the
    log-probability of `actions[place]` and by the entropy.

    It comes after `log_prob_and_entropy`, which may leave in place of the outputs what it needs.
    """
