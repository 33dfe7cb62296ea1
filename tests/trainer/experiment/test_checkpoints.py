"""A checkpoint is a whole run: going on from it is never having stopped."""

from __future__ import annotations

import re

import pytest
import torch
from learning import differing, iterate
from mounts import tmpfs
from teaching import TAUGHT, teacher

from operant.shared import CheckpointError
from operant.trainer.experiment.checkpoints import (
    FORMAT,
    Checkpoint,
    check_same_config,
    checkpoint_path,
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from operant.trainer.experiment.restoring import differences, restoring


def checkpoint_of(experiment, publish=0) -> Checkpoint:
    return Checkpoint(
        experiment.iteration,
        experiment.env_steps,
        publish,
        experiment.config.model_dump(mode="json"),
        experiment.state_dict(),
    )


NORMALIZED = ("normalization.obs=true", "normalization.reward=true")
# What is drawn, remembered and averaged on the way; the algorithms are in test_conformance.py.
RESUMED = {
    "rows and positives drawn": (
        "ppo.sampler=prioritised", "ppo.max_minibatch_size=16", "policy.memory.kind=lstm",
        "contrastive.coef=0.1", "num_envs=16",
    ),
    "samples drawn, in bfloat16": ("ppo.sampler=prioritised", "policy.precision=bfloat16"),
    "taught": (*TAUGHT, "kickstart.until_fraction=1", "kickstart.value_coef=1"),
}  # fmt: skip


@pytest.mark.slow
def test_three_iterations_and_three_more_are_six_bit_for_bit(
    any_distribution, make_experiment, tmp_path
):
    options = (any_distribution, *NORMALIZED, "ppo.learning_rate_schedule=cosine")
    assert_goes_on_exactly(make_experiment, tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", RESUMED.values(), ids=RESUMED)
def test_that_holds_with_all_that_is_drawn_and_remembered(
    make_experiment, small_config, tmp_path, teach, options
):
    teach(teacher(small_config, "policy.memory.kind=gru"), teacher(small_config))
    assert_goes_on_exactly(make_experiment, tmp_path, *options)


def assert_goes_on_exactly(make_experiment, tmp_path, *options):
    """Six iterations, and three with a checkpoint and three more, end alike."""
    straight = make_experiment(*options)
    iterate(straight, 3)
    save_checkpoint(tmp_path, checkpoint_of(straight), keep=1)
    iterate(straight, 3)
    loaded = latest_checkpoint(tmp_path)
    second = make_experiment(*options)
    iterate(second, 1)  # whatever it did before does not matter
    second.load_state_dict(loaded.state, loaded.iteration)
    iterate(second, 3)
    assert differing(straight.state_dict(), second.state_dict()) == []


def small_checkpoint(folder, iteration, keep=9, **state):
    """The file of a checkpoint without a run."""
    made = Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, state)
    return save_checkpoint(folder, made, keep)


def changed(path, **values):
    torch.save({**torch.load(path, weights_only=True), **values}, path)


def test_only_the_newest_are_kept(tmp_path):
    for iteration in range(1, 6):
        small_checkpoint(tmp_path, iteration, keep=2)
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["iteration-000000004.pt", "iteration-000000005.pt"]
    assert load_checkpoint(list_checkpoints(tmp_path)[0]).iteration == 4


def test_a_linked_folder_of_checkpoints_is_neither_read_nor_pruned(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "run" / "checkpoints"
    for iteration in (1, 2, 3):
        small_checkpoint(elsewhere, iteration)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    for use in (list_checkpoints, latest_checkpoint):
        with pytest.raises(CheckpointError, match="checkpoints is a link, which is not followed"):
            use(folder)
    with pytest.raises(OSError, match="is a link"):
        small_checkpoint(folder, 4, keep=1)
    assert [load_checkpoint(path).iteration for path in list_checkpoints(elsewhere)] == [1, 2, 3]


def test_a_checkpoint_that_is_a_link_is_not_read(tmp_path):
    path = small_checkpoint(tmp_path / "elsewhere", 3)
    folder = small_checkpoint(tmp_path / "checkpoints", 2).parent
    (folder / path.name).symlink_to(path)
    assert latest_checkpoint(folder).iteration == 2


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_truncated_checkpoint_is_one_clear_line(tmp_path, size):
    path = small_checkpoint(tmp_path, 1, x=torch.zeros(1000))
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
    torch.save({"format": FORMAT, "iteration": Mischief()}, path)
    with pytest.raises(CheckpointError):
        load_checkpoint(path)
    assert "executed" not in capsys.readouterr().out


def test_a_disk_without_room_is_told_in_its_own_words_and_leaves_the_former_checkpoint(tmp_path):
    with tmpfs(tmp_path / "small", "1m") as disk:
        saved = small_checkpoint(disk, 1, x=torch.zeros(1000))
        with pytest.raises(OSError, match="No space left on device"):
            small_checkpoint(disk, 2, x=torch.zeros(10**6))
        assert list(disk.iterdir()) == [saved]


@pytest.mark.slow
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


def test_what_a_newer_version_adds_to_a_checkpoint_does_not_matter(tmp_path):
    path = small_checkpoint(tmp_path, 1)
    changed(path, made_by="a newer version")
    assert load_checkpoint(path).config == {"env": "cart_pole"}


def test_a_checkpoint_of_another_format_is_refused_by_its_number(tmp_path):
    small_checkpoint(tmp_path, 6)
    path = small_checkpoint(tmp_path, 7)
    changed(path, format=1)
    with pytest.raises(CheckpointError, match=r"000007.pt was made by operant 0.3, which reads it"):
        load_checkpoint(path)
    changed(path, format=7)
    with pytest.raises(CheckpointError, match="has format 7, and this version of operant reads 2"):
        latest_checkpoint(tmp_path)  # no damage that an older checkpoint would mend


@pytest.mark.slow
def test_a_state_that_does_not_fit_is_one_line(make_experiment):
    experiment = make_experiment()
    state = experiment.state_dict()
    del state["collector"]
    with (
        pytest.raises(
            CheckpointError, match=r"^the checkpoint does not fit this run: it lacks coll"
        ),
        restoring(state, experiment.state_dict),
    ):
        experiment.load_state_dict(state, 0)


@pytest.mark.slow
def test_a_state_of_another_shape_is_told_with_its_place_and_both_shapes(
    make_experiment, small_config
):
    saved = make_experiment("policy.hidden_sizes=[16, 8]").state_dict()
    experiment = make_experiment("policy.hidden_sizes=[16, 16]")
    with (
        pytest.raises(CheckpointError) as caught,
        restoring(saved, experiment.state_dict),
    ):
        experiment.load_state_dict(saved, 0)
    assert re.match(
        r"the checkpoint does not fit this run: policy\.\S+ is 8 x 16 in it, and 16 x 16 here, and "
        r"\d+ more differ$",
        str(caught.value),
    ), caught.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "place"),
    [("dqn", "dead_env_steps"), ("dqn", "learner.finite_updates.num_skipped"),
     ("dqn", "collector.steps_before"), ("ppo", "collector.steps_before")],
)  # fmt: skip
def test_text_in_place_of_a_count_is_one_line(make_experiment, algorithm, place):
    experiment = make_experiment(f"algorithm={algorithm}")
    state = experiment.state_dict()
    *tables, key = place.split(".")
    table = state
    for name in tables:
        table = table[name]
    table[key] = ""
    told = f"^the checkpoint does not fit this run: {place} is a plain value in it, and a number"
    with pytest.raises(CheckpointError, match=told), restoring(state, experiment.state_dict):
        experiment.load_state_dict(state, 0)


def test_a_state_that_was_half_taken_and_cannot_be_asked_is_one_line():
    def broken():
        raise ValueError("half")

    told = "^the checkpoint does not fit this run: it is odd$"
    with pytest.raises(CheckpointError, match=told), restoring({}, broken):
        raise ValueError("it is odd")


def test_differences_are_told_by_place_kind_and_number():
    saved = {"a": torch.zeros(2, 3), "b": {"c": [1, 2]}, "d": 1, "old": 1}
    own = {"a": torch.zeros(2, 3), "b": {"c": [1]}, "d": {}, "new": 1}
    assert list(differences(saved, own)) == [
        "it lacks new",
        "nothing here takes its old",
        "b.c is a list of 2 in it, and a list of 1 here",
        "d is a number in it, and a table here",
    ]


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
    changed(small_checkpoint(tmp_path, 7), **{name: value})
    with pytest.raises(CheckpointError, match=rf"cannot be read: {told}(: expected|$)"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize("size", [0, 500])
def test_where_the_newest_is_damaged_an_older_one_is_taken_and_that_is_told_once(tmp_path, size):
    paths = [small_checkpoint(tmp_path, iteration) for iteration in (5, 6, 7)]
    for damaged in paths[1:]:
        damaged.write_bytes(damaged.read_bytes()[:size])
    told = []
    assert latest_checkpoint(tmp_path, told.append).iteration == 5
    (line,) = told
    assert re.search(
        r"-000000007.pt cannot be read: \w.*; iteration-000000005.pt is taken instead$", line
    )
    paths[0].write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"000000007.pt cannot be read"):
        latest_checkpoint(tmp_path)


def test_a_damaged_checkpoint_pushes_none_out_that_the_run_makes_instead(tmp_path):
    for iteration in (2, 9):
        small_checkpoint(tmp_path, iteration, keep=2)
    checkpoint_path(tmp_path, 9).write_bytes(b"")
    for iteration in (3, 4, 5):  # gone on from 2
        small_checkpoint(tmp_path, iteration, keep=2)
    assert [int(path.stem[-9:]) for path in list_checkpoints(tmp_path)] == [4, 5, 9]
    assert latest_checkpoint(tmp_path).iteration == 5
