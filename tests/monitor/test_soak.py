"""The monitor left open while its run is killed, replaced and its page deleted, for some seconds;
`make soak` does the same for two hours.
"""

from __future__ import annotations

import pytest
import soak as soaking

pytestmark = pytest.mark.slow


async def test_it_lives_through_everything_that_happens_to_a_run():
    seen = await soaking.soak(seconds=0.0, round_s=1.2, num_acts=9)
    assert {"kill", "replace", "delete the page", "kill without a page"} <= set(seen.acts)
    assert {"running", "crashed", "list"} <= seen.states
