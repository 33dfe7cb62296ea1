"""`python slow_rank.py ARGUMENTS`: operant on a machine whose environments take their time."""

from __future__ import annotations

import sys
import time
from typing import Any

from operant.cli import main
from operant.trainer.collector import Collector

S_A_STEP_OF_ONE = 6e-5


def slowly(act: Any) -> Any:
    def acting(self: Collector, *arguments: Any) -> Any:
        time.sleep(S_A_STEP_OF_ONE * self.envs.num_envs)
        return act(self, *arguments)

    return acting


if __name__ == "__main__":
    setattr(Collector, "_act", slowly(Collector._act))  # noqa: B010
    sys.exit(main())
