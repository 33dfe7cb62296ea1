"""`operant trace`: record the timeline of an iteration."""

from __future__ import annotations

import time

import click

from ..shared.errors import OperantError
from .command import Command, json_option
from .helpers.choosing_a_run import chosen_run, run_argument

LOOK_AGAIN_S = 0.05


@click.command("trace", cls=Command)
@run_argument
@json_option
def command(run: str | None, as_json: bool) -> None:
    """Record the timeline of one iteration of a run.

    Default: the latest run. It prints the names of the files: open them in
    https://ui.perfetto.dev or chrome://tracing. On a GPU two iterations are
    traced: one as usual, and one in which the host waits after each phase. The run goes on.
    """
    from ..shared.page.requests import send_request
    from ..shared.runs.status import holder_of, open_page
    from ..shared.runs.tracing import read_notice
    from .helpers.output import print_json, print_line

    chosen = chosen_run(run)
    page = open_page(chosen)
    try:
        newest = max((event.number for event in page.events()), default=0)
        send_request(chosen, "trace")
        while True:
            is_over = holder_of(chosen) is None  # before the events, so that none is missed
            names = [name for event in page.events(newest) for name in read_notice(event.text)]
            sizes = {path: path.stat().st_size for path in map(chosen.trace_folder.joinpath, names)}
            if sizes and as_json:
                files = [{"path": str(path), "size_bytes": size} for path, size in sizes.items()]
                print_json({"id": chosen.id, "files": files})
            for path, size in sizes.items() if not as_json else ():
                print_line(f"{path}: {size / 1000:.0f} kB")
            if sizes:
                return
            if is_over:
                raise OperantError(f"{chosen.id} ended before an iteration was traced")
            time.sleep(LOOK_AGAIN_S)
    finally:
        page.detach()
