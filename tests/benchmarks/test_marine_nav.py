"""The batch in NumPy that operant's seas are measured beside is the same world."""

from __future__ import annotations

import numpy as np
import pytest
from marine_worlds import recording
from peers.marine_nav_numpy import NumpySeas, Scenarios


@pytest.mark.parametrize("name", ["env3_home_clean_20", "env3_home_clean_23", "env3_cont_clean"])
def test_the_batch_is_the_authors_simulator(name):
    recorded = recording(name)
    keys = ("start", "goal", "theta0", "obst_xyr")
    scenarios = Scenarios(*(recorded[key][None] for key in keys))
    seas = NumpySeas(1, scenarios, seed=0, dtype=np.float64, noise=False)
    for t, actions in enumerate(recorded["action"]):
        reward, terminated, _, valid = seas.step(actions[None])
        active = recorded["active_before"][t]
        assert (valid[0] == active).all()
        np.testing.assert_allclose(reward[0][active], recorded["reward"][t][active], atol=1e-9)
        assert (terminated[0][active] == recorded["done"][t][active]).all()
        if terminated[0].sum() == active.sum():
            break  # the next episode has begun
        parts = [recorded[f"obs_{part}"][t].reshape(5, -1) for part in ("self", "obj", "mask")]
        expected = np.concatenate(parts, axis=1)[active]
        np.testing.assert_allclose(seas.obs[0][active], expected, atol=1e-9)
    assert t > 20
