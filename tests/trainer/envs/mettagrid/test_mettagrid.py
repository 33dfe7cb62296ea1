"""MettaGrid here and in workers: first and last observations, one reward for each action."""

from __future__ import annotations

import json
from contextlib import closing

import numpy as np
import pytest
from learning import iterate, ratios

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.grid.kinds import NUM_ACTIONS
from operant.trainer.envs.hosts import describe, make_envs
from operant.trainer.envs.mettagrid import library
from operant.trainer.envs.vector import Transitions
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.jit.streams import TRAINING
from operant.trainer.machine.threads import Threads

mettagrid = pytest.importorskip("mettagrid")

SMALL = (
    "env=mettagrid", "num_envs=4", "mettagrid.num_agents=2", "mettagrid.height=10",
    "mettagrid.width=10", "mettagrid.num_walls=4", "mettagrid.num_mines=2",
    "mettagrid.num_generators=2", "mettagrid.num_altars=2", "mettagrid.max_steps=30",
    "mettagrid.num_tokens=48", "mettagrid.ore_reward=0.1", "mettagrid.embedding_size=8",
)  # fmt: skip


def config_of(*overrides):
    return make_config({}, [*SMALL, *overrides])


class Stepped:
    """All environments of a configuration, with what a step gives."""

    def __init__(self, *overrides, stream=TRAINING):
        config = config_of(*overrides)
        self.spec = describe(config)
        self.envs = make_envs(self.spec, config.num_envs, 1, stream)
        self.out = Transitions.of(self.spec, self.envs.num_rows)
        self.envs.reset(self.out.obs)

    def step(self, *actions):
        self.envs.step(np.resize(actions, self.envs.num_rows), self.out)
        return Transitions(*map(np.copy, self.out))

    def close(self):
        self.envs.close()


def played(num_steps, *overrides):
    """The results of `num_steps` steps of random actions, by field."""
    random = np.random.default_rng(3)
    with closing(Stepped(*overrides)) as stepped:
        first = stepped.out.obs.copy()
        outs = [
            stepped.step(*random.integers(0, NUM_ACTIONS, stepped.envs.num_rows))
            for _ in range(num_steps)
        ]
        totals = stepped.envs.take_episode_totals()
    return [first, *map(np.array, zip(*outs, strict=True))], totals


@pytest.fixture(scope="module")
def played_here():
    return played(65)


@pytest.mark.slow
def test_it_plays_the_same_in_workers_as_here(played_here):
    found, totals = played(65, "workers.num_workers=2", "workers.async_factor=2")
    for a, b in zip(found, played_here[0], strict=True):
        assert (a == b).all()
    # 4 worlds x 2 agents, two episodes of 30 steps each in 65
    assert totals == played_here[1]
    assert totals[0::2] == (16, 16 * 30)


def test_a_reset_is_in_the_step_that_ends_an_episode(played_here):
    first, obs, _, terminated, truncated, final_obs, valid = played_here[0]
    assert truncated[[29, 59]].all()
    assert truncated.sum() == 2 * 8
    assert not terminated.any()
    assert valid.all()
    # What is true of all comes first: how much of the episode is over, of 255.
    completion = obs.reshape(65, 8, -1, 3)[:, 0, 0]
    assert completion[28].tolist() == [254, 1, 247]  # 256 x 29 / 30 = 247.5
    assert completion[29].tolist() == [254, 1, 0]
    assert final_obs[29, 0].reshape(-1, 3)[0].tolist() == [254, 1, 255]
    assert (obs[29] != first).any()  # each episode has a map of its own


def test_hearts_are_worth_one_and_batteries_and_ore_are_lost_with_their_worth(tmp_path):
    (tmp_path / "map.txt").write_text("#####\n#m@a#\n##g##\n#####\n")
    overrides = (f"mettagrid.map={tmp_path}/map.txt", "num_envs=1", "mettagrid.num_agents=1",
                 "mettagrid.height=32", "mettagrid.width=32", "mettagrid.num_walls=60",
                 "mettagrid.num_mines=10", "mettagrid.num_generators=8", "mettagrid.num_altars=6",
                 "mettagrid.battery_reward=0.3", "mettagrid.cooldown=0")  # fmt: skip
    with closing(Stepped(*overrides)) as stepped:
        rewards = [float(stepped.step(action).reward[0]) for action in (3, 2, 4, 4)]
    # ore: 0.1; battery for it: 0.3 - 0.1; heart for that: 1 - 0.3; nothing left for another
    assert rewards == pytest.approx([0.1, 0.2, 0.7, 0.0])


def test_a_run_learns_and_ppo_reads_tokens_in_pytorch():
    config = load_config("mettagrid_ppo_smoke", ["num_threads=1"])
    assert config.num_agents == 4
    with closing(processor_experiment(config, Threads(1))) as experiment:
        before = experiment.algorithm.policy.flat_parameters.clone()
        iterate(experiment)
        assert (experiment.algorithm.policy.flat_parameters != before).any()
        assert experiment.collector.rollout.obs.numpy().dtype == np.uint8
        assert experiment.evaluate(2, lambda *_: None).returns.shape == (8,)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "lstm"])
def test_an_update_begins_with_the_probabilities_that_were_collected(kind):
    overrides = [f"policy.memory.kind={kind}", "num_threads=1"]
    config = load_config("mettagrid_ppo_smoke", overrides)
    with closing(processor_experiment(config, Threads(1))) as experiment:
        found = ratios(experiment, experiment.collect())
        assert found.numpy() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["mettagrid.num_agents=55"],
            "mettagrid.num_agents = 55: 10 x 10 cells with 10 walls and stations leave 54 free",
        ),
        (["normalization.obs=true"], "normalization.obs = true: mettagrid has token"),
        (["mettagrid.battery_reward_cap=2"], "battery_reward = 0, so there is nothing to cap"),
        (["mettagrid.num_tokens=16"], "mettagrid.num_tokens = 16 is too small: Observation token"),
        (
            ["mettagrid.config=nowhere.json"],
            "that is of the arena, and mettagrid.config = nowhere.json is another game; "
            "mettagrid.height = 32, mettagrid.width = 32, .* takes it back",
        ),
    ],
)
def test_what_makes_no_world_is_refused_in_one_line(overrides, words):
    with pytest.raises(ConfigError, match=words) as caught:
        config_of(*overrides)
    assert "\n" not in str(caught.value)


def test_an_observation_that_becomes_too_long_ends_a_run_with_the_setting():
    words = r"num_tokens = 40 is too small: .* \(step \d+ of its episode\), in environment \d"
    with pytest.raises(EnvError, match=words):
        played(65, "mettagrid.num_tokens=40")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#####\n#m@g#\n#####\n", "it has no altar"),
        ("#####\n#m@gx#\n#####\n", "line 2: expected one of . # m g a @, got 'x'"),
        ("#####\n#m@ga#\n#####\n", "line 2: 6 cells, and line 1 has 5"),
        ("######\n#m@ga#\n######\n", "num_agents = 4: .*map.txt has 1 agents"),
        (None, "map.txt: No such file or directory"),
    ],
)
def test_a_map_that_is_none_is_refused_in_one_line(tmp_path, text, words):
    if text is not None:
        (tmp_path / "map.txt").write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({}, ["env=mettagrid", f"mettagrid.map={tmp_path}/map.txt"])
    assert "\n" not in str(caught.value)


def own_game(tmp_path):
    from mettagrid.config.mettagrid_config import MettaGridConfig

    game = MettaGridConfig.EmptyRoom(3, with_walls=True).model_dump(mode="json")
    (tmp_path / "game.json").write_text(json.dumps(game))
    return ["env=mettagrid", f"mettagrid.config={tmp_path}/game.json", "mettagrid.num_agents=3"]


@pytest.mark.slow
def test_a_game_of_ones_own_is_read_from_a_file(tmp_path, make_experiment):
    spec = describe(make_config({}, own_game(tmp_path)))
    assert (spec.num_agents, spec.obs_size) == (3, 500 * 3)
    assert spec.actions.n > NUM_ACTIONS  # it can change its vibe
    experiment = make_experiment(*own_game(tmp_path), "num_envs=2", "mettagrid.embedding_size=8")
    assert np.isfinite(iterate(experiment)["loss/value"])
    experiment.close()


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (None, r"mettagrid is not installed, .*pip install .*\[mettagrid\]'"),
        ("0.31.2", "mettagrid 0.31.2 is installed, but operant needs 0.26: pip install"),
    ],
)
def test_a_library_that_is_missing_or_another_is_one_line(monkeypatch, version, words):
    def found(_):
        if version is None:
            raise library.PackageNotFoundError
        return version

    monkeypatch.setattr(library, "version", found)
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({}, ["env=mettagrid", "mettagrid.max_steps=77"])
    assert "\n" not in str(caught.value)
