"""A training process that is one of several ranks, and not the first."""

from __future__ import annotations

import sys
import traceback

from ..shared.errors import OperantError
from ..shared.harmless import harmless_lines, one_line
from ..trainer.config.train_config import TrainConfig
from ..trainer.ranks.place import Place


def following_rank(place: Place, config: TrainConfig | None, split: str) -> int:
    """Train at this `place`, with nothing shown but what goes wrong; returns the exit code. Without
    a `config` it is that of rank 0.
    """
    from ..trainer.ranks.following import follow
    from ..trainer.run.signals import stop_requests

    with stop_requests(says=False) as received:
        try:
            follow(place, config, split, lambda: bool(received))
        except OperantError as error:
            print(f"operant: rank {place.rank}: {one_line(str(error))}", file=sys.stderr)
            return error.exit_code
        except Exception:
            print(harmless_lines(traceback.format_exc().rstrip()), file=sys.stderr)
            return 1
    return 128 + received[0] if received else 0
