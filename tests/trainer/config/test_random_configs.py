"""Random configurations train or are refused by one line, and whatever else they did is found out.

`make configs` tries a thousand others.
"""

from __future__ import annotations

import json
import subprocess
import sys

import config_fuzz


def test_a_few_random_configurations_train_or_are_refused_by_one_line():
    # In processes of its own: memory is limited for good, and forks are safe before any thread.
    done = subprocess.run(
        [sys.executable, config_fuzz.__file__, "--configs", "10", "--seed", "3"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    counted = json.loads(done.stdout.splitlines()[-1])
    assert counted["trained"] + counted["refused"] == 10
    assert min(counted["trained"], counted["refused"]) >= 2
