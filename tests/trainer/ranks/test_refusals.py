"""What ranks cannot do together yet is refused, and named."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import make_config
from operant.trainer.ranks.refusals import check_ranks


@pytest.mark.parametrize(
    "override",
    [
        "algorithm=dqn", "env=gymnasium:CartPole-v1", "cpu_offload=true",
        "compile=true", "ppo.sampler=prioritised",
    ],
)  # fmt: skip
def test_a_setting_is_named(override):
    key, _, value = override.partition("=")
    with pytest.raises(ConfigError) as caught:
        check_ranks(make_config({}, [override]), "", 2)
    assert str(caught.value) == f"{key} = {value} does not go with several ranks yet"


def test_contrasts_and_teachers_are_refused():
    memory = ["policy.memory.kind=lstm", "contrastive.coef=0.1"]
    with pytest.raises(ConfigError, match=r"contrastive.coef = 0.1 does not go"):
        check_ranks(make_config({}, memory), "", 2)


@pytest.mark.parametrize("algorithm", ["ppo", "pqn"])
def test_what_can_be_is_let_be(algorithm):
    check_ranks(make_config({}, [f"algorithm={algorithm}"]), "3:1", 2)
