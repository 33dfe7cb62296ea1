"""A checkpoint is a whole run: going on from it is never having stopped."""

from __future__ import annotations

import re

import pytest
import torch
from learning import iterate

from operant.shared import CheckpointError
from operant.trainer.run.checkpoints import (
    Checkpoint,
    check_same_config,
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
    restoring,
    save_checkpoint,
)


def checkpoint_of(experiment, publish=0) -> Checkpoint:
    return Checkpoint(
        experiment.iteration,
        experiment.env_steps,
        publish,
        experiment.config.model_dump(mode="json"),
        experiment.state_dict(),
    )


def flat(state) -> dict[str, torch.Tensor]:
    """All leaves of nested states, as tensors."""
    if not isinstance(state, dict | list):
        return {"": torch.as_tensor(0 if state is None else state)}
    items = state.items() if isinstance(state, dict) else enumerate(state)
    return {f"{key}.{name}": leaf for key, part in items for name, leaf in flat(part).items()}


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_three_iterations_and_three_more_are_six_bit_for_bit(
    any_distribution, make_experiment, tmp_path, normalize
):
    goes_on_exactly(
        make_experiment,
        tmp_path,
        any_distribution,
        f"normalization.obs={normalize}",
        f"normalization.reward={normalize}",
        "ppo.learning_rate_schedule=cosine",
    )


def test_that_holds_in_pytorch_as_well(make_experiment, tmp_path):
    goes_on_exactly(make_experiment, tmp_path, "policy.precision=bfloat16")


def goes_on_exactly(make_experiment, tmp_path, *options):
    """Six iterations, and three with a checkpoint and three more, end alike."""
    straight = make_experiment(*options)
    iterate(straight, 6)

    first = make_experiment(*options)
    iterate(first, 3)
    save_checkpoint(tmp_path, checkpoint_of(first), keep=1)
    loaded = latest_checkpoint(tmp_path)
    second = make_experiment(*options)
    iterate(second, 1)  # whatever it did before does not matter
    second.load_state_dict(loaded.state, loaded.iteration)
    iterate(second, 3)

    expected, found = flat(straight.state_dict()), flat(second.state_dict())
    assert expected.keys() == found.keys()
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []


def test_only_the_newest_are_kept(make_experiment, tmp_path):
    experiment = make_experiment()
    for _ in range(5):
        iterate(experiment, 1)
        save_checkpoint(tmp_path, checkpoint_of(experiment), keep=2)
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["iteration-000000004.pt", "iteration-000000005.pt"]
    assert load_checkpoint(list_checkpoints(tmp_path)[0]).iteration == 4


@pytest.mark.parametrize("size", [0, 1, 100, 5000, -1])
def test_a_truncated_checkpoint_is_one_clear_line(make_experiment, tmp_path, size):
    path = save_checkpoint(tmp_path, checkpoint_of(make_experiment()), keep=1)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Mischief:
    def __reduce__(self):
        return print, ("executed",)


def test_nothing_in_a_checkpoint_is_executed(tmp_path, capsys):
    path = tmp_path / "iteration-000000001.pt"
    torch.save({"format": 1, "iteration": Mischief()}, path)
    with pytest.raises(CheckpointError):
        load_checkpoint(path)
    assert "executed" not in capsys.readouterr().out


def test_a_disk_that_is_full_leaves_the_former_checkpoint(make_experiment, tmp_path, monkeypatch):
    experiment = make_experiment()
    save_checkpoint(tmp_path, checkpoint_of(experiment), keep=1)
    iterate(experiment, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(tmp_path, checkpoint_of(experiment), keep=1)
    assert latest_checkpoint(tmp_path).iteration == 0


def test_another_configuration_is_refused_by_key_and_values(make_experiment, small_config):
    checkpoint = checkpoint_of(make_experiment())
    check_same_config(checkpoint, small_config())
    check_same_config(checkpoint, small_config("total_env_steps=99999", "checkpoint.keep=1"))
    with pytest.raises(CheckpointError, match=r"policy.hidden_sizes = \[16, 16\], not \[32\]"):
        check_same_config(checkpoint, small_config("policy.hidden_sizes=[32]"))
    with pytest.raises(CheckpointError, match=r"algorithm = ppo, not pqn"):
        check_same_config(checkpoint, small_config("algorithm=pqn"))


def test_a_folder_without_checkpoints_says_so(tmp_path):
    with pytest.raises(CheckpointError, match="has no checkpoint"):
        latest_checkpoint(tmp_path / "run" / "checkpoints")


def test_what_a_newer_version_adds_to_a_checkpoint_does_not_matter(make_experiment, tmp_path):
    path = save_checkpoint(tmp_path, checkpoint_of(make_experiment()), keep=1)
    saved = torch.load(path, weights_only=True)
    torch.save({**saved, "made_by": "a newer version"}, path)
    assert load_checkpoint(path).config == saved["config"]


def test_a_checkpoint_of_another_format_is_refused_by_its_number(make_experiment, tmp_path):
    path = save_checkpoint(tmp_path, checkpoint_of(make_experiment()), keep=1)
    torch.save({**torch.load(path, weights_only=True), "format": 7}, path)
    with pytest.raises(CheckpointError, match="has format 7, and this version of operant reads 1"):
        load_checkpoint(path)


def test_a_state_that_does_not_fit_is_one_line(make_experiment):
    experiment = make_experiment()
    state = experiment.state_dict()
    del state["collector"]
    with (
        pytest.raises(
            CheckpointError, match=r"version of operant: all of it: it lacks 'collector'"
        ),
        restoring("all of it"),
    ):
        experiment.load_state_dict(state, 0)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("iteration", float("nan"), "iteration = nan"),
        ("env_steps", -5, "env_steps = -5"),
        ("publish", "x", "publish = 'x'"),
        ("config", 3, "config is no table"),
        ("state", [], "state is no table"),
    ],
)
def test_a_checkpoint_whose_values_are_none_is_refused_in_one_line(tmp_path, name, value, told):
    path = save_checkpoint(tmp_path, Checkpoint(7, 70, 7, {}, {}), keep=1)
    torch.save({**torch.load(path, weights_only=True), name: value}, path)
    with pytest.raises(CheckpointError, match=rf"cannot be read: {told}$"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize("size", [0, 500])
def test_a_checkpoint_that_is_cut_short_says_from_which_the_run_would_go_on(tmp_path, size):
    for iteration in (6, 7):
        path = save_checkpoint(tmp_path, Checkpoint(iteration, 70, 7, {}, {}), keep=2)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CheckpointError) as caught:
        latest_checkpoint(tmp_path)
    assert re.search(
        r"-000000007.pt cannot be read: \w.*; without that file the run goes on from "
        r"iteration-000000006.pt$",
        str(caught.value),
    )
    path.unlink()
    assert latest_checkpoint(tmp_path).iteration == 6
