"""Ranks connect to one another."""

from __future__ import annotations

import subprocess
import sys

# Rank 0 of two, of which the other has said that it lives and is gone before they connect.
ALONE = """
import os, sys
from datetime import timedelta
from torch import distributed
from operant.trainer.ranks.group import Group
from operant.trainer.ranks.watch import RankLostError, Watch, say_alive

store = distributed.TCPStore("127.0.0.1", 0, 2, True, timedelta(seconds=60), False)
say_alive(store, 1)
watch = Watch(store.clone(), 0, ["rank 0", "rank 1"])
try:
    Group(store, 0, 2, "gloo", "127.0.0.1", watch)
except RankLostError as error:
    print(error, flush=True)
    os._exit(7)
"""


def test_a_rank_that_is_lost_while_they_connect_is_missed():
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("rank 1 is gone: it has said nothing for ")
