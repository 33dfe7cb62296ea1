"""Runs the pieces of the conformance table, in one process a package; prints one JSON object.

    python tools/conformance.py wandb|tensorboard real|operant

Each piece's result is "kept", "dropped", "works" (of the original), or the error that it raised.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import conformance_tensorboard
import conformance_wandb
from conformance_pieces import Piece

TABLES = {"wandb": conformance_wandb.PIECES, "tensorboard": conformance_tensorboard.PIECES}


class Figure:
    """Stands for one of matplotlib."""

    def savefig(self, into: Any, format: str = "png", **_: Any) -> None:
        into.write(b"\x89PNG")


def main() -> None:
    table, side = sys.argv[1:3]
    results = {
        f"{group}: {piece.title}": outcome(table, side, piece)
        for group, pieces in TABLES[table].items()
        for piece in pieces
        if piece.real or side == "operant"
    }
    print("\n" + json.dumps(results), flush=True)


def outcome(table: str, side: str, piece: Piece) -> str:
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        given = {"np": np, "tmp": Path(folder), "Figure": Figure}
        os.environ["OPERANT_HOME"] = f"{folder}/home"
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                (with_operant if side == "operant" else with_original)(table, piece, given)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        finally:
            os.chdir("/")
        if side == "real":
            return "works"
        return judged(piece, given, said.getvalue())


def with_original(table: str, piece: Piece, given: dict[str, Any]) -> None:
    if table == "tensorboard":
        from torch.utils.tensorboard import SummaryWriter

        given["SummaryWriter"] = SummaryWriter
        if not piece.begins:
            given["writer"] = SummaryWriter(str(given["tmp"] / "writer"))
        exec(piece.code, given)
        if "writer" in given:
            given["writer"].close()
        return
    import wandb

    os.environ["WANDB_MODE"] = "offline"
    os.chdir(given["tmp"])
    if piece.begins:
        wandb.finish()
    elif wandb.run is None:
        wandb.init(project="p", dir=tempfile.gettempdir())
    given |= {"wandb": wandb, "run": wandb.run}
    exec(piece.code, given)
    if piece.begins:
        wandb.finish()


def with_operant(table: str, piece: Piece, given: dict[str, Any]) -> None:
    import operant
    from operant import wandb
    from operant.shared.runs import recorder_process

    recorder_process.start_recorder = lambda *_: None  # a process a piece would be slow
    if table == "tensorboard":
        given["SummaryWriter"] = operant.integrations.SummaryWriter
        if not piece.begins:
            given["writer"] = operant.integrations.SummaryWriter(str(given["tmp"] / "writer"))
        exec(piece.code, given)
        if "writer" in given:
            given["writer"].close()
        return
    given["wandb"] = wandb
    if not piece.begins:
        room = 128 if "range(70)" in piece.code else 16  # a small page is made sooner
        given["run"] = operant.init(project="p", max_metrics=room)
    try:
        exec(piece.code, given)
    finally:
        operant.finish()


def judged(piece: Piece, given: dict[str, Any], said: str) -> str:
    from operant.shared.runs.find_runs import list_runs
    from operant.shared.runs.status import open_page, read_status

    if not piece.keeps:
        if "operant: warning" in said or piece.silent:
            return "dropped"
        return "Nothing: it is dropped without a word"
    runs = list_runs()
    seen = given | {"num_runs": len(runs), "os": os}
    if runs:
        status, manifest = read_status(runs[0]), runs[0].manifest()
        reader = open_page(runs[0])
        events = [event.text for event in reader.events()]
        reader.detach()
        media = runs[0].folder / "media"
        seen |= {
            "status": status,
            "metrics": status.metrics, "manifest": manifest, "config": manifest.get("config"),
            "summary": manifest.get("summary"), "events": events,
            "files": files_below(media),
            "copies": files_below(runs[0].folder / "files"),
            "read": lambda name: (media / name).read_text(),
        }  # fmt: skip
    with contextlib.suppress(KeyError, IndexError, FileNotFoundError):
        if eval(piece.keeps, seen):
            return "kept"
    found = {name: seen.get(name) for name in ("metrics", "files", "events")}
    return f"Lost: {piece.keeps} is not so; {found}"


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
