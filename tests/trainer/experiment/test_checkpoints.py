"""A checkpoint is a whole run: going on from it is never having stopped."""

from __future__ import annotations

import re

import pytest
import torch
from learning import differing, iterate
from mounts import tmpfs

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


@pytest.mark.slow
@pytest.mark.parametrize("normalize", ["true", "false"])
def test_three_iterations_and_three_more_are_six_bit_for_bit(
    any_distribution, make_experiment, tmp_path, normalize
):
    assert_goes_on_exactly(
        make_experiment,
        tmp_path,
        any_distribution,
        f"normalization.obs={normalize}",
        f"normalization.reward={normalize}",
        "ppo.learning_rate_schedule=cosine",
    )


def test_that_holds_with_rewards_cut_and_centred(make_experiment, tmp_path):
    assert_goes_on_exactly(
        make_experiment, tmp_path, "normalization.reward_centring=0.01",
        "normalization.reward_limit=0.5",
    )  # fmt: skip


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_that_holds_with_everything_that_is_drawn(make_experiment, tmp_path, memory):
    assert_goes_on_exactly(
        make_experiment, tmp_path, "ppo.sampler=prioritised", "ppo.max_minibatch_size=16",
        f"policy.memory.kind={memory}",
    )  # fmt: skip


def test_that_holds_in_pytorch_as_well(make_experiment, tmp_path):
    assert_goes_on_exactly(make_experiment, tmp_path, "policy.precision=bfloat16")


def assert_goes_on_exactly(make_experiment, tmp_path, *options):
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

    assert differing(straight.state_dict(), second.state_dict()) == []


def test_only_the_newest_are_kept(make_experiment, tmp_path):
    experiment = make_experiment()
    for _ in range(5):
        iterate(experiment, 1)
        save_checkpoint(tmp_path, checkpoint_of(experiment), keep=2)
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["iteration-000000004.pt", "iteration-000000005.pt"]
    assert load_checkpoint(list_checkpoints(tmp_path)[0]).iteration == 4


def test_a_linked_folder_of_checkpoints_is_neither_read_nor_pruned(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "run" / "checkpoints"
    for iteration in (1, 2, 3):
        save_checkpoint(elsewhere, Checkpoint(iteration, 10, 1, {"env": "cart_pole"}, {}), keep=9)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    for use in (list_checkpoints, latest_checkpoint):
        with pytest.raises(CheckpointError, match="checkpoints is a link, which is not followed"):
            use(folder)
    with pytest.raises(OSError, match="is a link"):
        save_checkpoint(folder, Checkpoint(4, 10, 1, {"env": "cart_pole"}, {}), keep=1)
    assert [load_checkpoint(path).iteration for path in list_checkpoints(elsewhere)] == [1, 2, 3]


def test_a_checkpoint_that_is_a_link_is_not_read(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "checkpoints"
    path = save_checkpoint(elsewhere, Checkpoint(3, 10, 1, {"env": "cart_pole"}, {}), keep=1)
    save_checkpoint(folder, Checkpoint(2, 10, 1, {"env": "cart_pole"}, {}), keep=1)
    (folder / path.name).symlink_to(path)
    assert latest_checkpoint(folder).iteration == 2


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
    torch.save({"format": FORMAT, "iteration": Mischief()}, path)
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


def test_a_disk_without_room_is_told_in_its_own_words_and_nothing_is_left(tmp_path):
    with tmpfs(tmp_path / "small", "1m") as disk:
        saved = save_checkpoint(
            disk, Checkpoint(1, 10, 1, {"env": "cart_pole"}, {"x": torch.zeros(1000)}), keep=2
        )
        with pytest.raises(OSError, match="No space left on device"):
            save_checkpoint(
                disk, Checkpoint(2, 20, 2, {"env": "cart_pole"}, {"x": torch.zeros(10**6)}), keep=2
            )
        assert list(disk.iterdir()) == [saved]


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
    with pytest.raises(CheckpointError, match="has format 7, and this version of operant reads 2"):
        load_checkpoint(path)
    torch.save({**torch.load(path, weights_only=True), "format": 1}, path)
    with pytest.raises(CheckpointError, match=r"000000.pt was made by operant 0.3, which reads it"):
        load_checkpoint(path)


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


@pytest.mark.parametrize(
    "place",
    [
        "dead_env_steps", "learner.num_updates", "learner.env_steps", "learner.env_steps_before",
        "learner.finite_updates.num_skipped", "learner.updates_owed", "collector.steps_before",
    ],
)  # fmt: skip
def test_text_in_place_of_a_count_is_one_line(make_experiment, place):
    of_replay = ("algorithm=dqn", "dqn.warmup_env_steps=128", "dqn.batch_size=16")
    experiment = make_experiment(*of_replay)
    state = experiment.state_dict()
    *tables, key = place.split(".")
    table = state
    for name in tables:
        table = table[name]
    table[key] = ""
    told = f"^the checkpoint does not fit this run: {place} is a plain value in it, and a number"
    with pytest.raises(CheckpointError, match=told), restoring(state, experiment.state_dict):
        experiment.load_state_dict(state, 0)


def test_text_in_place_of_a_count_of_compiled_loops_is_one_line(make_experiment):
    experiment = make_experiment()
    state = experiment.state_dict()
    state["collector"]["steps_before"] = ""
    told = "run: collector.steps_before is a plain value in it, and a number"
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
    path = save_checkpoint(tmp_path, Checkpoint(7, 70, 7, {"env": "cart_pole"}, {}), keep=1)
    torch.save({**torch.load(path, weights_only=True), name: value}, path)
    with pytest.raises(CheckpointError, match=rf"cannot be read: {told}(: expected|$)"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize("size", [0, 500])
def test_where_the_newest_is_damaged_an_older_one_is_taken_and_that_is_told_once(tmp_path, size):
    for iteration in (5, 6, 7):
        path = save_checkpoint(
            tmp_path, Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, {}), keep=3
        )
    for damaged in (path, checkpoint_path(tmp_path, 6)):
        damaged.write_bytes(damaged.read_bytes()[:size])
    told = []
    assert latest_checkpoint(tmp_path, told.append).iteration == 5
    (line,) = told
    assert re.search(
        r"-000000007.pt cannot be read: \w.*; iteration-000000005.pt is taken instead$", line
    )


def test_where_none_can_be_read_the_newest_is_named(tmp_path):
    for iteration in (6, 7):
        save_checkpoint(
            tmp_path, Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, {}), keep=2
        ).write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"000000007.pt cannot be read"):
        latest_checkpoint(tmp_path)


def test_a_newer_format_is_no_damage_that_an_older_checkpoint_would_mend(tmp_path):
    for iteration in (6, 7):
        path = save_checkpoint(
            tmp_path, Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, {}), keep=2
        )
    torch.save({**torch.load(path, weights_only=True), "format": 3}, path)
    with pytest.raises(CheckpointError, match=r"000000007.pt has format 3"):
        latest_checkpoint(tmp_path)


def test_a_damaged_checkpoint_pushes_none_out_that_the_run_makes_instead(tmp_path):
    for iteration in (2, 9):
        save_checkpoint(tmp_path, Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, {}), keep=2)
    checkpoint_path(tmp_path, 9).write_bytes(b"")
    for iteration in (3, 4, 5):  # gone on from 2
        save_checkpoint(tmp_path, Checkpoint(iteration, 70, 7, {"env": "cart_pole"}, {}), keep=2)
    assert [int(path.stem[-9:]) for path in list_checkpoints(tmp_path)] == [4, 5, 9]
    assert latest_checkpoint(tmp_path).iteration == 5
