"""Which encoder observations get, and what is wrong with a network of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import Worlds, describe, load_spec
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import Machine
from operant.trainer.policies.encoder import make_encoder, own_encoder
from operant.trainer.settings.policy import PolicyConfig
from operant.trainer.spaces import ANY_NUMBERS, Discrete
from operant.trainer.spaces.encoders import chosen_encoder, image_of

NO_GPU = Machine(no_gpu="none is wanted")


@dataclass
class Seen:
    """The observations of an environment."""

    obs_shape: tuple[int, ...] = ()
    obs_type: Any = np.uint8
    obs_range: tuple[float, float] = (0, 255)
    make_encoder: Any = None
    actions = Discrete(2)

    @property
    def obs_size(self):
        return int(np.prod(self.obs_shape))


def floats(shape, limits=(0.0, 1.0)):
    return Seen(shape, np.float32, limits)


def brings(spec):
    spec.make_encoder = lambda seed: None
    return spec


@pytest.mark.parametrize(
    ("spec", "from_replay", "encoder"),
    [
        (Seen((4, 84, 84)), True, "nature"),
        (Seen((36, 36)), False, "nature"),
        (Seen((36, 35, 3)), False, "minatar"),
        (floats((10, 10, 4)), False, "minatar"),
        (Seen((3, 3)), False, "minatar"),
        (Seen((2, 9, 1)), False, "mlp"),
        (Seen((4, 84, 84, 3)), False, "mlp"),
        (floats((8,), ANY_NUMBERS), True, "mlp"),
        (floats((8, 8, 2), (-1.0, 1.0)), True, "mlp"),
        (floats((84, 84), ANY_NUMBERS), True, "mlp"),
        (brings(Seen((600,))), False, "environment"),
        (brings(floats((8,))), True, "environment"),
        (brings(floats((8,))), False, "mlp"),
    ],
)
def test_auto_goes_by_the_observations(spec, from_replay, encoder):
    assert chosen_encoder("auto", spec, from_replay) == encoder


@pytest.mark.parametrize("env", Worlds.names)
def test_environments_with_images_are_listed_as_such(env):
    config = make_config({"env": env})
    assert config.facts().encoder == chosen_encoder("auto", describe(config), False)


@pytest.mark.parametrize(
    ("wanted", "spec", "said"),
    [
        ("nature", floats((8,)), r"is for images, \[height, width\] with or without channels, and "
         r"observations have the shape \(8,\); use mlp$"),
        ("nature", Seen((84, 35, 3)), "at least 36 x 36, and these are 84 x 35; use auto$"),
        ("minatar", floats((9, 9, 2), (0.0, 255.0)), "from 0 to 255; scale them, or use mlp$"),
        ("auto", floats((84, 84, 3), ANY_NUMBERS), "from -inf to inf; scale them, or use mlp$"),
        ("environment", Seen((84, 84)), "the environment brings no encoder; use auto$"),
        ("mlp", Seen((600,)), "observations are tokens, not numbers; use auto$"),
    ],
)  # fmt: skip
def test_an_encoder_that_cannot_read_the_observations_is_refused(wanted, spec, said):
    with pytest.raises(ConfigError, match=rf"^policy.encoder = {wanted}\b.*{said}"):
        chosen_encoder(wanted, spec, True)


@pytest.mark.parametrize(
    ("shape", "image"),
    [((84, 80), (1, 84, 80)), ((4, 84, 80), (4, 84, 80)), ((84, 80, 3), (3, 84, 80)),
     ((5, 7, 5), (5, 5, 7))],
)  # fmt: skip
def test_channels_are_the_smaller_of_the_first_and_the_last_axis(shape, image):
    assert image_of(shape)[:3] == image


@pytest.mark.parametrize("encoder", ["nature", "impala", "minatar"])
def test_an_image_gives_the_same_features_in_either_order_and_as_numbers(encoder):
    generator = torch.Generator().manual_seed(1)
    pixels = torch.randint(0, 256, (2, 5, 40, 38, 3), generator=generator).byte()
    last, first = Seen((40, 38, 3)), Seen((3, 40, 38))
    by_last, by_first, by_floats = (
        make_encoder(PolicyConfig(encoder=encoder), spec, 3)
        for spec in (last, first, floats((40, 38, 3)))
    )
    features = by_last(pixels.flatten(2))
    assert features.shape == (2, 5, by_last.num_features)
    torch.testing.assert_close(by_first(pixels.movedim(-1, 2).flatten(2)), features)
    torch.testing.assert_close(by_floats(pixels.flatten(2) / 255), features)
    torch.testing.assert_close(by_last(pixels.flatten(2).float()), features)  # as ONNX gets it


def test_weights_are_of_the_seed_and_no_repetition_of_other_encoders():
    config, spec = PolicyConfig(encoder="image_envs:Pair"), Seen((8, 8))
    torch.manual_seed(1)
    one = make_encoder(config, spec, 3)
    torch.manual_seed(2)
    same, other = make_encoder(config, spec, 3), make_encoder(config, spec, 4)
    weights = [encoder.module.layers[1].weight for encoder in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NoModule", r"calling it with \(8, 8\) gives a NoModule, expected a torch.nn.Module"),
        ("WrongShape", r"forward gives \(12,\) for 2 observations, expected \(2, num_features\)"),
        ("NoTensor", "forward gives a list, not a tensor"),
        ("NaNs", "forward gives NaN or infinity for an observation of zeros"),
        ("NoParameters", "it has no parameters to learn"),
        ("Unused", r"its features do not depend on idle.weight; remove it"),
        ("Frozen", r"layers.1.weight has requires_grad = False, torch.float32; all weights are .*"),
        ("Doubles", "its forward fails: RuntimeError: .*"),
        ("Drops", "Dropout depends on other samples or on chance, .* or leave it out"),
        ("DropsSome", "forward gives other features for the same observations, as with dropout"),
        ("Centred", "forward gives an observation other features if the batch has others"),
        ("InPlace", "forward changes its observations in place"),
        ("InDoubles", r"forward gives \(2, 12\) of torch.float64, expected features of .*"),
        ("Fails", r"calling it with \(8, 8\) fails: KeyError: 'no weights'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_network_of_ones_own_is_said_in_one_line(name, said):
    with pytest.raises(ConfigError) as failed:
        make_encoder(PolicyConfig(encoder=f"image_envs:{name}"), Seen((8, 8)), 1)
    assert "\n" not in str(failed.value)
    assert failed.match(said)


@pytest.mark.parametrize("given", [None, torch.zeros(5, 12), torch.zeros(3, 11)])
def test_features_of_another_shape_later_are_said_in_one_line(given):
    spec = load_spec("gymnasium:image_envs:Sides")
    encoder = own_encoder("image_envs:Pair", spec, 1)
    encoder.module.forward = lambda obs: given
    with pytest.raises(ConfigError, match=r"for 3 observations, expected \(3, \d+\) as in its"):
        encoder(torch.zeros(3, spec.obs_size))


def env(name):
    return f"gymnasium:image_envs:{name}"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"env": env("Unscaled")}, r"policy.encoder = auto: images are bytes \(uint8\)"),
        ({"env": "cart_pole", "policy": {"encoder": "nature"}}, r"is for images"),
        ({"env": env("Large"), "normalization": {"obs": True}}, "nature scales bytes itself"),
        (
            {"env": env("Large"), "policy": {"hidden_sizes": [], "activation": "relu"}},
            "there is no hidden layer",
        ),
    ],
)
def test_a_configuration_that_fits_no_encoder_is_refused(values, said):
    with pytest.raises(ConfigError, match=said):
        make_config(values)


@pytest.mark.parametrize(
    ("name", "encoder"),
    [("Large", "nature"), ("Sides", "minatar"), ("Grey", "minatar"), ("Floats", "minatar"),
     ("Table", "mlp")],
)  # fmt: skip
def test_the_first_notice_says_what_auto_chose(name, encoder):
    config = make_config({"env": env(name)})
    planned = plan(config, describe(config), NO_GPU)
    assert planned.notices[0].startswith(f"policy.encoder = auto is {encoder}, for observations")
    assert planned.update == ("compiled" if encoder == "mlp" else "pytorch")
