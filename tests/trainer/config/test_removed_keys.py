"""Keys of 0.3 are answered with what to write now."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import fields_with_defaults, make_config
from operant.trainer.config.removed_keys import GONE, REMOVED_KEYS


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("ppo.clip_schedule=linear", "is gone: ppo.clip_coef stays as it is over the run"),
        ("hardware=cpu", "is gone: write --with NAME, in Python presets=[NAME]"),
        ("ranks.silent_for_s=3", "is gone: a rank counts as lost after 7 s of silence"),
        ("evaluation.time_fraction=0.2", "is now 'evaluation.every_env_steps'"),
        ("sac.learn_alpha=false", 'is gone: alpha = "auto" is tuned, a number stays'),
    ],
)
def test_a_removed_key_is_one_line(override, line):
    algorithm = "ppo" if override.startswith("ppo.") else "sac"
    with pytest.raises(ConfigError) as caught:
        make_config({"env": "pendulum", "algorithm": algorithm}, [override])
    assert str(caught.value) == f"{override.partition('=')[0]} {line}"


def test_the_keys_in_the_place_of_others_exist():
    known = {key for key, _, _ in fields_with_defaults()}
    assert not known & set(REMOVED_KEYS)
    assert {now for now in REMOVED_KEYS.values() if not now.startswith(GONE)} <= known
