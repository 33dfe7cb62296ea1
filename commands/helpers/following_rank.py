"""A training process that is one of several ranks, and not the first."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from ...shared.errors import OperantError
from ...shared.text.harmless import harmless_lines, one_line

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig
    from ...trainer.distributed.place import Place


def following_rank(place: Place, config: TrainConfig | None, split: str) -> int:
    """Train at this `place`, with nothing shown but what goes wrong; returns the exit code. Without
    a `config` it is that of rank 0.
    """
    from ...trainer.running.following import follow
    from ...trainer.running.signals import stop_requests

    with stop_requests(says=False) as requests:
        try:
            follow(place, config, split, requests)
        except OperantError as error:
            print(f"operant: rank {place.rank}: {one_line(str(error))}", file=sys.stderr)
            return error.exit_code
        except Exception:
            import traceback

            print(harmless_lines(traceback.format_exc().rstrip()), file=sys.stderr)
            return 1
    return 128 + requests[0] if requests.stop else 0


def ended_at_once(exit_code: int) -> int:
    """End the process at once if one of several ranks failed: a reduction that waits for another
    rank cannot be cancelled.
    """
    if exit_code:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # the terminal may have gone
                stream.flush()
        os._exit(exit_code)
    return exit_code
