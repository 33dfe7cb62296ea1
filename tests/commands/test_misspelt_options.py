"""Options that `operant train` does not have, and settings without `--set`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from operant.commands.train import command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--lr", "3e-4"], "no such option '--lr'; did you mean '--set ppo.learning_rate=VALUE'?"),
        (["--num-envs=8"], "no such option '--num-envs'; did you mean '--set num_envs=VALUE'?"),
        (["--resum", "x"], "no such option '--resum'; did you mean '--resume'?"),
        (["--xyzzy"], "no such option '--xyzzy'"),
        (
            ["cart_pole", "seed=3"],
            "argument (seed=3); write --set seed=3 to change a setting",
        ),
    ],
)
def test_the_nearest_option_or_setting_is_named(arguments, said):
    assert str(CliRunner().invoke(command, arguments).exception).endswith(said)
