"""Every environment is played as an evaluation plays it, and is drawn all the way."""

from __future__ import annotations

from typing import ClassVar

import gymnasium
import hosted_envs
import numpy as np
import pytest
from hosted_envs import Count
from tinyphysics_files import write_model, write_routes

from operant.shared.episodes.scene import ROLES, Frame
from operant.shared.errors import UsageError
from operant.trainer.envs.hosts import describe
from operant.trainer.envs.names import (
    CONFIGURED_ENV_NAMES,
    ENV_NAMES,
    MINATAR_ENV_NAMES,
)
from operant.trainer.experiment.evaluation import evaluate
from operant.trainer.playing.drawings import load_drawing
from operant.trainer.playing.gymnasium_episodes import make_drawn

SEA = (
    "marine_nav_ppo_smoke", "marine_nav.curriculum=[]", "marine_nav.num_robots=3",
    "marine_nav.num_obstacles=2", "marine_nav.num_vortices=2",
)  # fmt: skip
PRESETS = {  # where it is not `<env>_ppo`
    "cart_pole": ("cart_pole_ppo_smoke",),
    "grid": ("grid_ppo_smoke", "grid.embedding_size=8"),
    "marine_nav": SEA,
    **{name: (f"{name}_pqn", "minatar.max_steps=300") for name in MINATAR_ENV_NAMES},
    "tinyphysics": ("tinyphysics_ppo", "tinyphysics.held_out_routes=2"),
}
CART_POLE_OF_GYMNASIUM = ("cart_pole_ppo_smoke", "env=gymnasium:CartPole-v1")


def played_out(episodes):
    """The last moment of the episode that was begun."""
    while not episodes.step():
        pass
    return episodes.moment(0)


@pytest.fixture
def challenge(tmp_path, monkeypatch):
    folder = tmp_path / "challenge"
    write_model(folder / "tinyphysics.onnx", num_blocks=1)
    write_routes(folder / "data", 4, num_rows=510)
    monkeypatch.setenv("OPERANT_TINYPHYSICS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def check_scene(scene, num_agents):
    """All of it is there, and the parts that are acted on within what is shown."""
    assert scene.shapes
    for shape in scene.shapes:
        assert shape.role in ROLES
        assert -1 <= shape.agent < num_agents
        assert shape.points.shape[1:] == (2,)
        assert not np.isinf(shape.points).any()
    bodies = [s.points for s in scene.shapes if s.role in ("body", "retired")]
    middles = np.array([np.nanmean(points, 0) for points in bodies if np.isfinite(points).any()])
    assert (middles >= scene.low).all()
    assert (middles <= scene.high).all()


@pytest.mark.slow
@pytest.mark.usefixtures("challenge")
@pytest.mark.parametrize(
    "env", [*ENV_NAMES, *MINATAR_ENV_NAMES, *CONFIGURED_ENV_NAMES, "tinyphysics"]
)
def test_every_environment_is_drawn_from_its_beginning_to_its_end(env, episodes_of):
    assert callable(load_drawing(env))
    episodes = episodes_of(*PRESETS.get(env, (f"{env}_ppo",)), "policy.hidden_sizes=[8]")
    assert episodes.env == env
    episodes.begin(3, 1)
    first = episodes.moment(0)
    assert (first.step, first.is_over, set(first.endings)) == (0, False, {""})
    assert not any(first.returns)
    check_scene(first.view, episodes.num_agents)
    for _ in range(20):
        episodes.step()
    later = episodes.moment(episodes.num_agents - 1)
    assert later.step == 20 or later.is_over
    check_scene(later.view, episodes.num_agents)
    last = played_out(episodes)
    check_scene(last.view, episodes.num_agents)
    assert last.is_over
    assert all(last.endings)
    assert len(last.endings) == len(last.returns) <= episodes.num_agents
    # Nothing happens after the end, and the same seed and number are the same episode.
    episodes.step()
    assert episodes.moment(0).step == last.step
    episodes.begin(3, 1)
    assert played_out(episodes).returns == last.returns
    episodes.begin(4, 1)
    without_reward = ("acrobot", "grid", "mountain_car", *MINATAR_ENV_NAMES)  # as policies begin
    assert played_out(episodes).returns != last.returns or env in without_reward


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "most_steps"),
    # at sea small differences, as of sums in another order, soon lead to other episodes
    [(("cart_pole_ppo_smoke",), 500), (SEA, 10), (CART_POLE_OF_GYMNASIUM, 500)],
)
def test_episode_k_is_the_one_of_environment_k_of_an_evaluation(
    preset, most_steps, untrained, episodes_of
):
    trained = untrained(*preset)
    spec, seed = describe(trained.config), trained.config.seed
    evaluation = evaluate(trained.policy, spec, 3, seed, most_steps)
    episodes = episodes_of(*preset)
    returns = []
    for number in range(3):
        episodes.begin(episodes.seed, number)
        for _ in range(most_steps):
            # Evaluations of MarineNav end with the first collision of any robot.
            if episodes.step() or "collided" in episodes.moment(0).endings:
                break
        returns += episodes.moment(0).returns
    np.testing.assert_allclose(returns, evaluation.returns, rtol=1e-4)


@pytest.mark.slow
def test_marine_nav_shows_robots_goals_obstacles_currents_and_a_range(episodes_of):
    episodes = episodes_of(*SEA)
    episodes.begin(1, 0)
    for _ in range(15):
        episodes.step()
    moment = episodes.moment(1)
    alive = moment.endings.count("")
    drawn = [(shape.role, shape.agent) for shape in moment.view.shapes]
    hulls = [shape for shape in moment.view.shapes if shape.kind == "area"]
    assert [shape.agent for shape in hulls] == [0, 1, 2]
    assert drawn.count(("obstacle", -1)) == 2
    assert drawn.count(("current", -1)) == 1
    assert drawn.count(("range", 1)) == (moment.endings[1] == "")
    # the first ten decisions of a wake, and the rest
    assert drawn.count(("trail", 0)) == 2 or moment.endings[0]
    assert sum(role == "part" for role, _ in drawn) == alive


@pytest.mark.slow
def test_the_current_drawn_is_the_one_that_vessels_feel():
    from marine_worlds import compiled_for, put_scenario

    from operant.trainer.envs.marine_nav.compiled_world import World
    from operant.trainer.envs.marine_nav.scenario import Scenario
    from operant.trainer.envs.marine_nav.vessel import current_at
    from operant.trainer.playing.drawings.marine_nav import flow_at

    world = World(robots=2, obstacles=0, vortices=2, precision="float64")
    vortices = np.array([[10.0, 20.0, 1.0, 9.0], [30.0, 25.0, 0.0, 7.0]])
    nowhere = np.zeros((0, 2))
    state = np.zeros((world.first_rows["state_size"], 1))
    scenario = Scenario(nowhere, nowhere, np.zeros(0), np.zeros((0, 3)), vortices)
    put_scenario(state, 0, scenario, world)
    places = np.array([[10.2, 20.1], [12.0, 3.0], [30.0, 26.0]])  # within a core, and outside
    felt = [compiled_for(current_at, world)(state, 0, x, y) for x, y in places]
    np.testing.assert_allclose(flow_at(vortices, places), felt, rtol=1e-12)


def test_an_environment_of_gymnasiums_draws_itself(episodes_of):
    episodes = episodes_of(*CART_POLE_OF_GYMNASIUM)
    episodes.begin(1, 0)
    view = episodes.moment(0).view
    assert isinstance(view, Frame)
    assert view.pixels.shape == (400, 600, 3)
    assert view.pixels.dtype == np.uint8
    before = view.pixels.copy()
    last = played_out(episodes)
    assert (last.view.pixels != before).any()
    assert last.returns == (float(last.step),)


@pytest.mark.parametrize("name", ["Legal", "Several", "BesideParts"])
def test_an_environment_with_masks_is_played_with_legal_actions(episodes_of, name):
    """An illegal action raises."""
    gymnasium.register("Masked-v0", f"masked_envs:{name}")
    try:
        episodes = episodes_of("gymnasium:Masked-v0")
        episodes.begin(1, 0)
        assert played_out(episodes).step == 20
    finally:
        gymnasium.registry.pop("Masked-v0")


def test_environments_of_a_function_are_drawn_where_it_has_them_draw():
    env = make_drawn("hosted_envs:make_drawn")
    env.reset(seed=1)
    assert env.render().shape == (400, 600, 3)
    env.close()
    with pytest.raises(UsageError, match="its render_mode is None, and not 'rgb_array'"):
        make_drawn("hosted_envs:make_count")


def test_an_environment_that_draws_nothing_says_so():
    class Blind(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

    gymnasium.register("Blind-v0", Blind)
    try:
        with pytest.raises(UsageError, match="no render_mode 'rgb_array'"):
            make_drawn("Blind-v0")
    finally:
        gymnasium.registry.pop("Blind-v0")


@pytest.mark.slow
def test_mettagrids_worlds_are_drawn_as_an_evaluation_plays_them(episodes_of):
    pytest.importorskip("mettagrid")
    preset = ("mettagrid_ppo_smoke", "mettagrid.embedding_size=8", "mettagrid.max_steps=30")
    episodes = episodes_of(*preset, "policy.hidden_sizes=[8]")
    episodes.begin(3, 1)
    check_scene(episodes.moment(0).view, 4)
    last = played_out(episodes)
    check_scene(last.view, 4)
    assert (last.step, last.endings) == (30, ("time limit",) * 4)
    episodes.begin(3, 1)
    assert played_out(episodes).returns == last.returns
    evaluation = evaluate(
        episodes._trained.policy, describe(episodes._trained.config), 2, 3, 27_000,
        lambda *_: None, 0.9,
    )  # fmt: skip
    assert evaluation.returns[4:].tolist() == pytest.approx(last.returns)


class Walker(Count):
    """An environment like Gymnasium's MuJoCo ones: rendering needs a display."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"
    mujoco_renderer = object()

    def render(self):
        raise RuntimeError("an OpenGL platform library has not been loaded\nand more")


def test_without_a_display_a_mujoco_environment_says_what_to_set(monkeypatch):
    monkeypatch.setattr(hosted_envs, "walk", Walker, raising=False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="there is none; set MUJOCO_GL=egl") as caught:
        make_drawn("hosted_envs:walk")
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("MUJOCO_GL", "egl")
    make_drawn("hosted_envs:walk").close()
