"""`python slow_rank.py ARGUMENTS`: operant on a machine whose environments take their time."""

from __future__ import annotations

import sys
import time
from typing import Any

from operant.cli import main
from operant.trainer.collecting.collector import Collector
from operant.trainer.collecting.compiled import CompiledCollector

S_A_STEP_OF_ONE = 6e-5


def slowly(work: Any, steps: Any = lambda collector: 1) -> Any:
    """`work` of a collector, which is so many steps of all its environments."""

    def working(self: Any, *arguments: Any) -> Any:
        time.sleep(S_A_STEP_OF_ONE * self.envs.num_envs * steps(self))
        return work(self, *arguments)

    return working


if __name__ == "__main__":
    setattr(Collector, "_act", slowly(Collector._act))  # noqa: B010
    collect = slowly(CompiledCollector.collect, lambda collector: len(collector.rollout.rewards))
    setattr(CompiledCollector, "collect", collect)  # noqa: B010
    sys.exit(main())
