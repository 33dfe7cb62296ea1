"""What ranks cannot do together yet is refused, and named."""

from __future__ import annotations

import pytest

from operant.shared.errors import ConfigError
from operant.trainer.config.files import make_config
from operant.trainer.ranks.refusals import check_ranks


@pytest.mark.parametrize(
    "override",
    ["cpu_offload=true", "compile=true", "overlap=true", "rollout=fused"],
)
def test_a_setting_is_named(override):
    key, _, value = override.partition("=")
    with pytest.raises(ConfigError) as caught:
        check_ranks(make_config({}, [override]), "", 2)
    assert str(caught.value) == f"{key} = {value} does not go with several ranks yet"


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["env=gymnasium:CartPole-v1"], "env = gymnasium:CartPole-v1"),
        (["algorithm=dqn", "checkpoint.replay=false"], "checkpoint.replay = false"),
        (["device=cuda"], "device = cuda"),
    ],
)
def test_environments_that_cannot_move_are_named_where_the_split_may_change(overrides, told):
    config = make_config({}, overrides)
    check_ranks(config, "2:1", 2)
    with pytest.raises(ConfigError) as caught:
        check_ranks(config, "auto", 2)
    assert str(caught.value) == f"split = auto with {told} does not go with several ranks yet"


def test_contrasts_are_refused():
    memory = ["policy.memory.kind=lstm", "contrastive.coef=0.1"]
    with pytest.raises(ConfigError, match=r"contrastive.coef = 0.1 does not go"):
        check_ranks(make_config({}, memory), "", 2)


@pytest.mark.parametrize(
    "overrides",
    [
        ["algorithm=ppo", "ppo.sampler=prioritised", "kickstart.teachers=['a-run']"],
        ["algorithm=pqn", "env=gymnasium:CartPole-v1"],
        ["algorithm=rainbow", "device=cuda"],
    ],
)
def test_what_can_be_is_let_be(overrides):
    check_ranks(make_config({}, overrides), "3:1", 2)
