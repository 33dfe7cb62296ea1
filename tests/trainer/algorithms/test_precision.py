"""Half precision: products alone, beside the same run in float32."""

from __future__ import annotations

import onnxruntime
import pytest
import torch
from learning import REPLAY_ENVS, iterate

from operant.trainer.algorithms.optimizer import PATIENCE, START, LossScale
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.machine.threads import Threads

LOSS = torch.tensor(0.5)


def make(algorithm, precision, **section):
    values = {
        "env": REPLAY_ENVS[algorithm], "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
        "num_threads": 1, "total_env_steps": 32 * 8, "replay": {"capacity": 400},
        "policy": {"hidden_sizes": [16, 16], "precision": precision},
        algorithm: {"warmup_env_steps": 32, "batch_size": 32, **section},
    }  # fmt: skip
    return processor_experiment(make_config(values, ()), Threads(1))


def changes(experiment):
    """Weight changes in two iterations."""
    before = experiment.policy.flat_parameters.detach().clone()
    iterate(experiment, 2)
    return experiment.policy.flat_parameters.detach() - before


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("algorithm", REPLAY_ENVS)
def test_weights_move_as_they_do_in_float32_nearly(algorithm, precision):
    whole, half = (
        make(algorithm, each, updates_per_env_step=0.0625) for each in ("float32", precision)
    )
    for name in ("loss_scale", "critic_scale", "actor_scale"):
        if precision == "float16" and hasattr(half.algorithm, name):
            # What it comes down to, so that no update is left out here.
            getattr(half.algorithm, name).scale.fill_(256.0)
    expected, found = changes(whole), changes(half)
    assert half.policy.flat_parameters.dtype == torch.float32
    assert not torch.equal(found, expected)
    # Adam's first steps are about as long for all weights: directions count.
    assert torch.cosine_similarity(found, expected, dim=0) > 0.9


def test_a_run_in_float16_resumes_with_its_scale():
    first = make("sac", "float16")
    iterate(first, 2)
    first.algorithm.critic_scale.scale.fill_(512.0)
    again = make("sac", "float16")
    again.load_state_dict(first.state_dict(), 2)
    iterate(first)
    iterate(again)
    assert torch.equal(first.policy.flat_parameters, again.policy.flat_parameters)
    assert again.algorithm.critic_scale.scale == 512


def test_what_overflows_moves_nothing_and_halves_the_scale():
    scale = LossScale(torch.device("cpu"))
    assert float(scale.up(torch.tensor(0.5))) == START / 2
    gradient, active = scale.down(torch.tensor([1.0, torch.inf]), LOSS, None)
    assert gradient.tolist() == [0, 0]
    assert float(active) == 0
    assert float(scale.scale) == START / 2
    gradient, active = scale.down(torch.tensor([START, 0.0]), LOSS, torch.ones(()))
    assert gradient.tolist() == [2, 0]
    assert float(active) == 1


@pytest.mark.parametrize(
    ("loss", "active"), [(torch.tensor(torch.nan), None), (torch.tensor(1.0), torch.zeros(()))]
)
def test_the_scale_stays_where_the_loss_is_not_finite_or_the_update_is_not_due(loss, active):
    scale = LossScale(torch.device("cpu"))
    _, moves = scale.down(torch.tensor([1.0, torch.inf]), loss, active)
    assert float(moves) == 0
    assert float(scale.scale) == START


def test_the_scale_is_doubled_when_nothing_overflows_for_long():
    scale = LossScale(torch.device("cpu"))
    for _ in range(PATIENCE):
        assert float(scale.scale) == START
        scale.down(torch.ones(2), LOSS, None)
    assert float(scale.scale) == 2 * START
    scale.down(torch.ones(2), LOSS, None)
    assert float(scale.scale) == 2 * START


def test_what_is_exported_is_float32(tmp_path):
    experiment = make("sac", "bfloat16")
    write_onnx(experiment.policy, 3, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(
        tmp_path / "policy.onnx", providers=["CPUExecutionProvider"]
    )
    obs = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    (found,) = session.run(None, {session.get_inputs()[0].name: obs.numpy()})
    experiment.policy.network.set_precision(torch.float32)
    expected = experiment.policy.greedy(obs).detach()
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-5, atol=1e-5)
