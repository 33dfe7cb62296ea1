"""Every command first names the folders that it does not trust, and completes runs that were killed
together with their recorder.
"""

from __future__ import annotations

import sys

# Help needs no run, and is there at once.
HELP = frozenset({"-h", "--help", "--keys"})
# One is that recorder; one measures; of ranks the first has done it.
LEAVE_IT = frozenset({"record", "bench", "rank"})


def complete_left_behind(command: str | None) -> None:
    """Write what is missing of such runs, and take their pages off memory. Prints a line on
    standard error for each folder that is not trusted. Raises nothing: no command fails because of
    what others left.
    """
    if command in LEAVE_IT or HELP & set(sys.argv):
        return
    try:
        from ...shared.runs.left_behind import runs_left_behind
        from ...shared.runs.run_folder import refused_folders

        for line in refused_folders():
            from .output import warn

            warn(line)
        runs = runs_left_behind()
        if runs:
            from ...monitor.recorder.completing import complete_runs

            complete_runs(runs)
    # Folders and pages are bytes that anyone may have written.
    except Exception:
        return
