"""Trained policies in Python: load one, compute its actions, evaluate it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ..commands.eval import DEFAULT_EPISODES
from ..commands.helpers.began_elsewhere import told_where_it_began
from ..commands.helpers.choosing_a_run import ZOO, chosen_policy
from ..shared.errors import ConfigError, UsageError, check_argument
from ..shared.messages import log_warning
from ..shared.runs.run_folder import Run as RunFolder
from ..shared.text.harmless import harmless
from ..shared.text.plain_values import described
from ..shared.text.typed_numbers import whole_number
from ..trainer.config.train_config import no_such_env
from ..trainer.envs.checking import EnvError, action_problem, obs_problem
from ..trainer.envs.hosts import find_host, load_spec
from ..trainer.envs.masks import MASK_KEY, joined, legal
from ..trainer.envs.names import GYMNASIUM_PREFIX
from ..trainer.envs.own_envs import check_own, register_own
from ..trainer.envs.space_rows import env_action, flat_rows
from ..trainer.envs.spaces import full_name
from ..trainer.experiment.checkpoints import NEWEST
from ..trainer.experiment.evaluation import cut_off_message
from ..trainer.experiment.evaluation import evaluate as play_episodes
from ..trainer.experiment.trained_policy import TrainedPolicy, load_trained
from ..trainer.machine.threads import threads_kept
from ..trainer.returns.episodes import Evaluation
from ..trainer.settings.own_code import PREFIX as OWN_PREFIX
from ..trainer.spaces import num_numbers
from .own_names import check_algorithm_class, check_network, own_name
from .runs import Run, folder_of
from .tracebacks import short_traceback

Array = NDArray[Any]

MOST_EPISODES = 100_000


class Policy:
    """A trained policy, which maps observations to actions of its environment.

    It takes one observation as the environment gives it, or a batch of them, and returns one action
    as the environment takes it, or a batch. A batch has arrays [B, ...], in dictionaries and tuples
    as well.
    """

    def __init__(self, trained: TrainedPolicy, run: Run) -> None:
        self.run, self._trained = run, trained
        self._generator = torch.Generator().manual_seed(trained.config.seed)

    @classmethod
    def of(cls, trained: TrainedPolicy, folder: Path) -> Policy:
        """The policy `trained` of the run in `folder`."""
        return cls(trained, Run(RunFolder(folder)))

    @property
    def env(self) -> str:
        """The name of the environment that the policy was trained in."""
        return self._trained.config.env

    @property
    def algorithm(self) -> str:
        return self._trained.config.algorithm

    @property
    def iteration(self) -> int:
        """The iteration in which its checkpoint was saved."""
        return self._trained.iteration

    @property
    def module(self) -> torch.nn.Module:
        """The network, a `torch.nn.Module`."""
        return cast(torch.nn.Module, self._trained.policy)

    @property
    def is_recurrent(self) -> bool:
        """Whether the policy has a memory: `predict` takes and returns its state."""
        return self._trained.policy.state_size > 0

    @property
    def observation_space(self) -> Any:
        """Gymnasium's space of one observation, without its action mask."""
        spec = self._spec
        if spec.obs_space is not None:
            return spec.obs_space
        from ..trainer.envs.as_gymnasium import observation_space

        return observation_space(spec)

    @property
    def action_space(self) -> Any:
        """Gymnasium's space of one action."""
        if self._spec.action_space is not None:
            return self._spec.action_space
        from ..trainer.envs.as_gymnasium import action_space

        return action_space(self._spec.actions)

    def initial_state(self, batch_size: int = 1) -> Array:
        """The state of a recurrent policy where episodes begin [batch_size, ...]."""
        return self._trained.first_state(whole_number("batch_size", batch_size, 1)).numpy()

    def make_env(self, **options: Any) -> Any:
        """The Gymnasium environment that the policy was trained in, with the preprocessing of
        that run, whole games and the game's own rewards: `act` takes its observations.

        `options` are those of `gymnasium.make`, such as `render_mode="human"`. Raises UsageError
        for environments of other libraries.
        """
        config = self._trained.config
        if not config.env.startswith(GYMNASIUM_PREFIX):
            raise UsageError(f"make_env is for environments of Gymnasium's, not for {config.env}")
        from ..trainer.envs.workers.gymnasium_batch import maker

        name = config.env.removeprefix(GYMNASIUM_PREFIX)
        whole_games = self._trained.spec.preprocessing.for_evaluation()
        return maker(name, preprocessing=whole_games, **options)()

    def act(self, obs: Any, *, greedy: bool = True, action_masks: Any = None) -> Array:
        """The actions for `obs`: greedy ones, or with `greedy=False` as the algorithm explores.

        If the environment has action masks, `action_masks` are those of the observations: 1 for
        each legal choice, and 0 for the others. An observation that has an `action_mask` among
        its keys is given as it is.

        Raises UsageError if observations have another size, if masks are missing, or if the policy
        is recurrent: `predict` takes its state.
        """
        if self.is_recurrent:
            raise UsageError(
                f"the policy of {self.run.id} remembers the steps before: write actions, state = "
                "policy.predict(obs, state), with state = None where an episode begins"
            )
        return self._step(obs, None, None, greedy, action_masks)[0]

    def predict(
        self,
        obs: Any,
        state: Array | None = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Array, Array | None]:
        """The actions for `obs` and the next state, as `predict` of Stable-Baselines3: greedy
        actions if `deterministic`, otherwise as the algorithm explores.

        `state` is what the call before returned, None at first; `episode_start` [B] is True for
        observations that begin an episode. Policies that are not recurrent return None as their
        state. `action_masks` are as in `act`. Raises UsageError as `act`, and for a state of
        another shape.
        """
        return self._step(obs, state, episode_start, deterministic, action_masks)

    def _step(
        self, obs: Any, state: Array | None, episode_start: Any, greedy: bool, action_masks: Any
    ) -> tuple[Array, Array | None]:
        num_choices = getattr(self._trained.policy, "mask_size", 0)
        if num_choices:
            obs, masks = _split(obs)
            action_masks = masks if action_masks is None else action_masks
        rows, is_one = self._rows(obs)
        if rows.is_floating_point() and not rows.isfinite().all():
            raise UsageError("obs has NaN or infinity")
        if num_choices:
            rows = torch.cat([rows.float(), self._masks(action_masks, len(rows), num_choices)], -1)
        elif action_masks is not None:
            raise UsageError(f"action_masks: {self.env} had none when the policy was trained")
        before = self._state(state, episode_start, len(rows))
        policy = self._trained.policy
        with torch.inference_mode():
            if greedy:
                actions, after = policy.greedy_step(rows, before)
            else:
                noise = policy.noise((len(rows),), self._generator)
                drawn, _, after = policy.act_step(rows, noise, before)
                actions = policy.env_actions(drawn)
        result = actions.numpy()[0] if is_one else actions.numpy()
        if problem := action_problem(result):
            raise UsageError(f"{self.env}: {problem}")
        result = env_action(getattr(self._spec, "action_space", None), result)
        return result, after.numpy() if self.is_recurrent else None

    def to_onnx(self, path: str | Path) -> None:
        """Write the greedy policy to `path`, as `operant export -o FILE.onnx` does. An existing
        file is overwritten. Raises UsageError if it cannot be written.
        """
        from ..trainer.experiment.onnx_export import write_trained

        check_argument("path", path, (str, Path), "a file's name")
        write_trained(self._trained, self.run.id, Path(path))

    @cached_property
    def _spec(self) -> Any:
        """The environment's spaces, which are looked at again."""
        return self._trained.spec

    def _rows(self, obs: Any) -> tuple[torch.Tensor, bool]:
        """Observations [B, numbers], flattened, and whether `obs` is a single observation."""
        space = getattr(self._spec, "obs_space", None)
        is_array = isinstance(obs, np.ndarray | torch.Tensor)
        is_flat = is_array and (hasattr(space, "spaces") or np.asarray(obs).dtype.kind == "f")
        if space is not None and not hasattr(space, "low") and not is_flat:  # a Box has bounds
            try:
                numbers, is_one = flat_rows(space, obs)
            except EnvError as error:
                raise UsageError(f"obs is not of {self.env}: {error}") from None
            except (TypeError, ValueError, KeyError, IndexError, AttributeError):
                problem = obs_problem(obs, space).removeprefix("gives ")
                problem = problem or "its parts have several lengths"
                raise UsageError(f"obs is not of {self.env}: {problem}") from None
            return torch.from_numpy(numbers), is_one
        size = num_numbers(self._spec)
        tensor = torch.as_tensor(obs) if isinstance(obs, torch.Tensor) else _tensor(obs, size)
        if tensor.is_complex():
            raise UsageError(f"obs has {tensor.dtype}: expected {size} real numbers")
        is_of_space = tuple(tensor.shape) == getattr(space, "shape", None)
        if tensor.is_floating_point() and getattr(space, "dtype", None) == np.uint8:
            raise UsageError(f"obs has {tensor.dtype}: {self.env} gives uint8, 0 to 255")
        is_batch = tensor.ndim > 1 and len(tensor) == 1 and not is_of_space
        is_one = tensor.numel() == size and not is_batch
        num_rows = 1 if is_one or not tensor.ndim else len(tensor)
        if tensor.numel() != num_rows * size:
            shape = tuple(tensor.shape)
            own = getattr(space, "shape", None)
            is_plain = own is None or len(own) < 2
            kind = f"{size} numbers" if is_plain else f"what make_env() gives, of the shape {own}"
            raise UsageError(
                f"obs has the shape {shape}: the policy of {self.run.id} takes {kind}, or a batch "
                "of such"
            )
        tensor = tensor.reshape(num_rows, size)
        stays_bytes = tensor.dtype == torch.uint8 and self._spec.obs_type is np.uint8
        return (tensor if stays_bytes else tensor.float()), is_one

    def _state(self, state: Any, episode_start: Any, num_rows: int) -> torch.Tensor:
        """The user's `state`, reset where episodes start. Raises UsageError."""
        first = self._trained.first_state(num_rows)
        if state is None:
            return first
        if not self.is_recurrent:
            raise UsageError(
                f"state: the policy of {self.run.id} has no memory; write actions = policy.act(obs)"
            )
        try:
            given = torch.as_tensor(state)
        except (TypeError, ValueError, RuntimeError):
            given = torch.zeros(0)
        if given.shape != first.shape or given.dtype != first.dtype:
            raise UsageError(
                f"state = {described(state)}: expected an array of {first.dtype} and of shape "
                f"{tuple(first.shape)}, as policy.initial_state({num_rows}) or policy.predict gives"
            )
        if episode_start is None:
            return given
        starts = torch.as_tensor(np.asarray(episode_start, np.bool_)).reshape(-1)
        if len(starts) != num_rows:
            raise UsageError(
                f"episode_start has {len(starts)} values: expected one for each of {num_rows} "
                "observations"
            )
        return torch.where(starts.reshape(-1, *[1] * (first.ndim - 1)), first, given)

    def _masks(self, given: Any, num_rows: int, num_choices: int) -> torch.Tensor:
        one = num_rows == 1 and isinstance(given, tuple)  # of several choices, each with its own
        try:
            masks = np.asarray(0 if given is None else joined(given) if one else given)
            if masks.size != num_rows * num_choices:
                raise ValueError
            rows = masks.reshape(num_rows, num_choices)
            distribution = getattr(self._trained.policy, "distribution", None)
            choices = getattr(distribution, "nvec", (num_choices,))
            return torch.from_numpy(legal(rows, choices).astype(np.float32))
        except ValueError:
            raise UsageError(
                f"{self.env} has action masks: write policy.act(obs, action_masks=masks) with "
                f"{num_choices} numbers for each observation"
            ) from None
        except EnvError as error:
            raise UsageError(f"action_masks: {str(error).removeprefix('gives ')}") from None

    def __repr__(self) -> str:
        return harmless(
            f"<operant.Policy {self.algorithm} on {self.env}, iteration {self.iteration} of "
            f"{self.run.id}>"
        )


def _split(obs: Any) -> tuple[Any, Any]:
    """Observations without their action masks, and the masks; None if they have none. A dictionary
    with one key left becomes the value of that key: the policy was trained on it.
    """
    if isinstance(obs, list) and obs:
        pairs = [_split(each) for each in obs]
        has_masks = all(mask is not None for _, mask in pairs)
        return ([x for x, _ in pairs], [mask for _, mask in pairs]) if has_masks else (obs, None)
    if not isinstance(obs, Mapping) or MASK_KEY not in obs:
        return obs, None
    others = {key: part for key, part in obs.items() if key != MASK_KEY}
    return others if len(others) > 1 else next(iter(others.values())), obs[MASK_KEY]


def _tensor(obs: Any, size: int) -> torch.Tensor:
    try:
        return torch.from_numpy(np.asarray(obs))
    except (TypeError, ValueError):  # a ragged list is a ValueError
        raise UsageError(
            f"obs is a {type(obs).__name__}: expected an array of {size} numbers, or a batch of "
            "arrays of this size"
        ) from None


@short_traceback
def load(
    run: Run | str | Path | None = None,
    *,
    checkpoint: str | int = NEWEST,
    env: Callable[..., Any] | None = None,
    policy: Callable[..., Any] | None = None,
    algorithm: Callable[..., Any] | None = None,
) -> Policy:
    """The policy of a run's newest checkpoint, on the processor. Default: of the latest run.

    `run` is a run, its id or name, a part of either, its folder, or "zoo:" and an environment, as
    "zoo:cart_pole", for the policy that comes with operant. `checkpoint` is "best",
    "newest", the number of an iteration, or a name that a callback saved it under. `env` is the
    environment, `policy` the network, and `algorithm` the class of the algorithm, if a script or a
    notebook defined it and this process does not know it yet.

    Raises CheckpointError if no checkpoint can be read, RunNotFoundError, and UsageError if the
    run's configuration names code that another user wrote, which is not imported then.
    """
    check_checkpoint(checkpoint)
    is_shipped = isinstance(run, str) and run.startswith(ZOO)
    folder = chosen_policy(str(run)) if is_shipped else folder_of(run)
    config = folder.manifest().get("config", {})
    if env is not None:
        check_own(env)
        _register_again("env", str(config.get("env", "")).removeprefix(GYMNASIUM_PREFIX), env)
    if policy is not None:
        check_network(policy)
        _register_again("policy", config.get("policy", {}).get("encoder"), policy)
    if algorithm is not None:
        check_algorithm_class(algorithm)
        _register_again("algorithm", config.get("algorithm"), algorithm)
    with told_where_it_began(folder):
        return Policy(load_trained(folder, log_warning, str(checkpoint)), Run(folder))


def check_checkpoint(checkpoint: Any) -> None:
    """Raises UsageError unless `checkpoint` may name one."""
    expected = "best, newest, an iteration's number, or a name that a callback saved"
    check_argument("checkpoint", checkpoint, (str, Integral), expected)


def _register_again(argument: str, name: Any, make: Callable[..., Any]) -> None:
    """Register the user's `make` under its `name` in a run's configuration. Raises ConfigError if
    that is not the name of something that a script defined.
    """
    if not isinstance(name, str) or not name.startswith(OWN_PREFIX):
        raise ConfigError(
            f"{argument}: the run has {name}, which no script has defined: leave {argument} out"
        )
    own_name(make, name)


@short_traceback
def evaluate(
    policy: Policy | Run | str | Path | None = None,
    num_episodes: int = DEFAULT_EPISODES,
    *,
    seed: int | None = None,
    env: str | Callable[..., Any] | None = None,
) -> Evaluation:
    """Play greedy episodes, one in each of as many environments.

    `policy` is the result of `load`, or a run. All policies play the same episodes for the same
    `seed`; default: the run's seed. `env` is another environment to play in; default: the one that
    the policy was trained in.

    Raises ConfigError if the environment's observations or actions do not fit the policy.
    """
    loaded = policy if isinstance(policy, Policy) else load(policy)
    config = loaded._trained.config
    num_episodes = whole_number("num_episodes", num_episodes, 1, MOST_EPISODES)
    seed = config.seed if seed is None else whole_number("seed", seed, 0, 2**63 - 1)
    loaded._trained.check_finite()
    if config.env == "tinyphysics":
        raise UsageError(
            f"{loaded.run.id}: episodes of tinyphysics are routes, which have costs; "
            f"`operant tinyphysics eval --controller {loaded.run.id}` plays them"
        )
    spec: Any = loaded._trained.spec
    if env is not None:
        if not (isinstance(env, str) or callable(env)):
            raise UsageError(
                f"env = {described(env)}: expected a name, or a class or function that makes one"
            )
        name = full_name(env) if isinstance(env, str) else _registered(env)
        if find_host(name) is None:
            raise ConfigError(no_such_env(name))
        known = spec
        whole_games = known.preprocessing.for_evaluation()
        spec = load_spec(name, preprocessing=whole_games)
        if _in_words(spec) != _in_words(known):
            raise ConfigError(
                f"env = {name}: it has {_in_words(spec)}, the policy of {loaded.run.id} takes "
                f"{_in_words(known)}"
            )
    limit = config.evaluation.max_episode_steps
    with threads_kept():
        evaluation = play_episodes(
            loaded._trained.policy, spec, num_episodes, seed, limit,
            gamma=config.algorithm_section.gamma,
        )  # fmt: skip
    if evaluation.num_cut_off:
        log_warning(cut_off_message(evaluation, limit))
    return evaluation


def _in_words(spec: Any) -> str:
    seen = f"{num_numbers(spec)} observations" + (" and action masks" if spec.mask_size else "")
    return f"{seen} and {spec.actions}"


def _registered(env: Callable[..., Any]) -> str:
    check_own(env)
    return register_own(env)
