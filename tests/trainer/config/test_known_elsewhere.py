"""Names from other libraries give an error with the key to use here, and
docs/coming-from.md says the same.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from operant.shared.errors import ConfigError, nearest
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.keys import keys_of_all
from operant.trainer.config.known_elsewhere import ALGORITHMS, KEYS, known_elsewhere
from operant.trainer.config.metrics import metrics_of
from operant.trainer.config.train_config import algorithm_sections

DOCUMENT = (Path(__file__).parents[3] / "docs" / "coming-from.md").read_text()
KNOWN = [key.name for key in keys_of_all()]


def table(heading: str) -> list[tuple[list[str], list[str]]]:
    """For each row: names in `backticks` in the other columns, and in the last."""
    _, _, section = DOCUMENT.partition(f"## {heading}\n")
    rows = re.findall(r"^\| (.+) \|$", section.partition("\n## ")[0], re.MULTILINE)[1:]
    columns = [row.rpartition(" | ") for row in rows]
    return [
        (re.findall(r"`([\w/]+)`", theirs), re.findall(r"`([\w/.*]+)[^`]*`", ours))
        for theirs, _, ours in columns
    ]


def meant(name: str, algorithm: str) -> str:
    """The key that an error asks for where somebody typed `name`."""
    others = tuple(f"{other}." for other in algorithm_sections() if other != algorithm)
    known = [key for key in KNOWN if not key.startswith(others)]
    hint = known_elsewhere(name, algorithm, known)
    hint = nearest(name, known) if hint is None else hint
    return re.sub(r".*'(.*)'.*", r"\1", hint)


@pytest.mark.parametrize(
    ("preset", "typed", "key"),
    [
        ("cart_pole_ppo", "n_steps", "rollout_steps"),
        ("cart_pole_ppo", "ppo.batch_size", "ppo.num_minibatches"),
        ("cart_pole_ppo", "policy.net_arch", "policy.hidden_sizes"),
        ("cart_pole_pqn", "gae_lambda", "pqn.q_lambda"),
        ("cart_pole_dqn", "dqn.learning_starts", "dqn.warmup_env_steps"),
        ("pendulum_sac", "replay.buffer_size", "replay.capacity"),
        ("pendulum_sac", "sac.ent_coef", "sac.alpha"),
    ],
)
def test_a_name_of_another_library_is_answered_with_the_key(preset, typed, key):
    with pytest.raises(ConfigError) as raised:
        load_config(preset, [f"{typed}=1"])
    assert str(raised.value) == f"unknown key '{typed}'; did you mean '{key}'?"


@pytest.mark.parametrize("typed", ["v_min", "learning_starts"])
def test_neither_a_key_that_a_run_does_not_have_is_named_nor_one_that_merely_looks_alike(typed):
    with pytest.raises(ConfigError, match=f"unknown key '{typed}'$"):
        load_config("cart_pole_ppo", [f"{typed}=1"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("a2c", "'ppo'"), ("double-dqn", "'dqn' with dqn.double=true"), ("QRDQN", "'qr_dqn'"),
    ],
)  # fmt: skip
def test_an_algorithm_of_another_library_is_answered_with_the_nearest_here(typed, meant):
    with pytest.raises(ConfigError, match=re.escape(f"; did you mean {meant}?")):
        load_config("cart_pole_ppo", [f"algorithm={typed}"])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_is_meant_by_an_algorithm_of_another_library_can_be_set(name):
    algorithm, *settings = ALGORITHMS[name]
    env = "cart_pole" if "Discrete" in algorithm_sections()[algorithm].action_kinds else "pendulum"
    assert make_config({"algorithm": algorithm, "env": env}, settings).algorithm == algorithm
    assert name not in algorithm_sections()


def test_every_key_that_is_meant_is_there():
    for key in {key for keys in KEYS.values() for key in keys}:
        assert any(key.replace("*", name) in KNOWN for name in algorithm_sections()), key


@pytest.mark.parametrize(
    "heading",
    [
        "Names of PPO's settings",
        "Names of settings of off-policy algorithms",
        "Names of Atari's preprocessing",
    ],
)
def test_the_document_says_what_errors_say(heading):
    rows = table(heading)
    assert len(rows) > 7
    for theirs, ours in rows:
        for name in theirs:
            answers = {algorithm: meant(name, algorithm) for algorithm in algorithm_sections()}
            assert any(
                answer in {key.replace("*", algorithm) for key in ours}
                for algorithm, answer in answers.items()
            ), (name, ours)


def test_metrics_of_the_document_are_there():
    known = {metric.name for metric in metrics_of(make_config({}))}
    for _, ours in table("Names of metrics"):
        assert set(ours) <= known
