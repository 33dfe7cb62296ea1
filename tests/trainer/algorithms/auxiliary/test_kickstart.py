"""Learning from teachers: what they say, how much it counts, and that it draws a policy there."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from learning import collected, iterate
from teaching import TAUGHT, teacher
from trained_runs import trained_run

from operant.shared.errors import ConfigError
from operant.trainer.algorithms.auxiliary.kickstart import Kickstart
from operant.trainer.algorithms.minibatches import Batch, Evaluation
from operant.trainer.config.files import load_config
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.teachers import load_teacher
from operant.trainer.policies.distributions.categorical import Categorical
from operant.trainer.spaces import Discrete

# The policy that learns, where its weights do not matter.
DECIDED_BY_NOBODY = SimpleNamespace(
    distribution=Categorical(Discrete(2)), flat_parameters=torch.zeros(1)
)


def section(**changes):
    values = {"policy_coef": 1.0, "value_coef": 1.0, "until_fraction": 0.5}
    return SimpleNamespace(**{**values, **changes})


def test_teachers_count_fully_then_less_and_less_then_not_at_all():
    # until half of the run, the last half of that, from 0.25 on, falling
    kickstart = Kickstart(section(), (), DECIDED_BY_NOBODY, 1)
    found = [float(kickstart.factor(x)) for x in (0.0, 0.25, 0.375, 0.5, 0.9)]
    assert found == pytest.approx([1, 1, 0.5, 0, 0], abs=1e-6)


def test_the_loss_is_the_divergence_from_each_teacher_and_the_distance_of_values():
    kickstart = Kickstart(section(policy_coef=2.0, value_coef=3.0), (), DECIDED_BY_NOBODY, 1)
    outputs, values = torch.zeros(1, 2), torch.tensor([1.0])  # one half each
    # probabilities 3/4 and 1/4, value 3; and one half each, value 1
    said = torch.tensor([[math.log(3.0), 0.0, 3.0, 0.0, 0.0, 1.0]])
    divergence = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    nothing = torch.zeros(1)
    samples = Batch(*[nothing] * 6, extra={"teacher_outputs": said})
    found = kickstart.loss_sum(samples, Evaluation(nothing, outputs, values, samples))
    assert float(found) == pytest.approx(2 * divergence + 3 * (3 - 1) ** 2)


@pytest.mark.parametrize("kind", ["none", "lstm", "gru"])
def test_teachers_see_what_the_policy_sees_and_remember_across_rollouts(
    make_experiment, small_config, kind
):
    one = teacher(small_config, f"policy.memory.kind={kind}")
    kickstart = Kickstart(section(), (one,), one, 8)
    experiment = make_experiment("policy.precision=bfloat16")  # which collects in PyTorch
    state = torch.zeros(8, one.state_size)
    num_ends = 0
    for _ in range(3):
        rollout = collected(experiment)
        said = kickstart.teacher_outputs(rollout)
        for t, (obs, resets) in enumerate(zip(rollout.obs[:-1], rollout.resets(), strict=True)):
            if kind == "none":
                seen = obs
            else:
                seen, state = one.step(obs, state)
                state = state.masked_fill(resets.unsqueeze(-1), 0.0)
            torch.testing.assert_close(said[t, :, :-1], one.outputs(seen))
            torch.testing.assert_close(said[t, :, -1], one.values(seen))
            num_ends += int(resets.sum())
    assert num_ends > 8


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_a_policy_is_drawn_to_its_teacher(make_experiment, small_config, teach, memory):
    teach(teacher(small_config))
    experiment = make_experiment(
        *TAUGHT, f"policy.memory.kind={memory}", "kickstart.policy_coef=10",
        "ppo.learning_rate=3e-3", "kickstart.until_fraction=1", "total_env_steps=4000",
    )  # fmt: skip
    losses = [iterate(experiment)["loss/kickstart"] for _ in range(20)]
    assert losses[0] > 10 * 0.3  # of log 2 = 0.69 less what is left of it after four epochs
    assert losses[-1] < 10 * 0.1


def refused(name, *overrides, preset="cart_pole_ppo"):
    config = load_config(preset, overrides)
    with pytest.raises(ConfigError) as caught:
        load_teacher(config, describe(config), name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_teachers_are_runs_or_checkpoints_that_fit(tmp_path):
    run = trained_run("cart_pole_ppo_smoke")
    (checkpoint,) = run.checkpoint_folder.iterdir()
    config = load_config("cart_pole_ppo")
    for name in (run.id, str(checkpoint)):
        found = load_teacher(config, describe(config), name)
        assert not any(p.requires_grad for p in found.parameters())
    assert "no run is called" in refused("nobody")
    assert "cannot be read" in refused(str(tmp_path / "none.pt"))
    words = refused(run.id, preset="acrobot_ppo")
    assert "sees 4 numbers, and acrobot shows 6" in words
    learned = trained_run("cart_pole_dqn", "total_env_steps=1024", "dqn.warmup_env_steps=1024")
    assert "learned by dqn; teachers are PPO's" in refused(learned.id)


def test_teachers_that_no_longer_count_are_not_asked(
    make_experiment, small_config, teach, monkeypatch
):
    teach(teacher(small_config))
    experiment = make_experiment(*TAUGHT, "kickstart.until_fraction=0.5")
    asked = []
    (kickstart,) = experiment.algorithm.auxiliary_losses
    teacher_outputs = kickstart.teacher_outputs

    def watched(rollout):
        asked.append(rollout)
        return teacher_outputs(rollout)

    monkeypatch.setattr(kickstart, "teacher_outputs", watched)
    losses = [iterate(experiment)["loss/kickstart"] for _ in range(6)]
    # of six iterations half: progress is 0, 1/6 and 2/6 there
    assert len(asked) == 3
    assert losses[3:] == [0, 0, 0]
