"""An algorithm of one's own: Munchausen DQN, which is DQN with two other terms in its target.

Source: Vieillard et al. 2020, arXiv:2007.14430.
"""

import sys

import operant
from operant.algorithms import DQN, LOSSES, DQNConfig, Field, Losses, into_outputs, td_target
from operant.testing import check_algorithm


class MunchausenConfig(DQNConfig):
    """The table [dqn], with two keys more."""

    temperature: float = Field(0.03, gt=0, description="of the policy that values define")
    bonus: float = Field(0.9, ge=0, le=1, description="part of the log-policy in the reward")


class MunchausenDQN(DQN):
    """The reward has the log-probability of the action added, and the next value is soft."""

    section_class = MunchausenConfig

    def losses(self, batch, outputs, next_obs):
        temperature, actions = self.section.temperature, batch.actions.unsqueeze(1)
        after = self.target.values(next_obs)
        log_after = (after / temperature).log_softmax(1)
        soft_value = (log_after.exp() * (after - temperature * log_after)).sum(1)

        now = self.target.values(self.policy.normalizer(batch.obs))
        log_now = (now / temperature).log_softmax(1).gather(1, actions).squeeze(1)
        bonus = self.section.bonus * (temperature * log_now).clamp(-1, 0)
        target = td_target(batch.returns + bonus, batch.discounts, soft_value)

        value = outputs.gather(1, actions).squeeze(1)
        error = value - target
        loss = LOSSES[self.section.loss](error)
        slopes = into_outputs(loss.slopes.unsqueeze(1), batch.actions, outputs.shape[1])
        return Losses(loss.values, error.abs(), error.abs(), value, slopes)


check_algorithm(MunchausenDQN)
env_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
run = operant.train("cart_pole", algorithm=MunchausenDQN, total_env_steps=env_steps)
print("mean return", operant.evaluate(run, num_episodes=100).mean)
