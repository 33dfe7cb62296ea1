"""`operant tinyphysics download`: download the public model and routes."""

from __future__ import annotations

import shutil
import sys
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath

import click

from ...shared.errors import UsageError
from ...shared.runs.small_file import replacing
from ..command import Command, json_option

MODEL_URL = (
    "https://raw.githubusercontent.com/commaai/controls_challenge/master/models/tinyphysics.onnx"
)
ROUTES_URL = (
    "https://huggingface.co/datasets/commaai/commaSteeringControl/resolve/main/data/"
    "SYNTHETIC_V0.zip"
)
TIMEOUT_S = 30
BLOCK_BYTES = 1 << 20


@click.command("download", cls=Command)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The target folder. Default: where eval and train look.")  # fmt: skip
@click.option("--model-only", is_flag=True, help="Download the model without the routes (0.6 GB).")
@json_option
def command(output: Path | None, model_only: bool, as_json: bool) -> None:
    """Download the challenge's model and its 20,000 routes. Existing files are kept."""
    from ...trainer.envs.tinyphysics.places import MODEL_NAME, ROUTES_NAME, home
    from ..helpers.output import print_json, print_line

    folder = output or home()
    model, routes = folder / MODEL_NAME, folder / ROUTES_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not model.exists():
            fetch(MODEL_URL, model)
        found = {"model": str(model)}
        if not model_only:
            if not any(routes.glob("*.csv")):
                archive = folder / "routes.zip"
                fetch(ROUTES_URL, archive)
                unpack(archive, routes)
                archive.unlink()
            found["routes"] = str(routes)
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "reason", None) or error
        raise UsageError(
            f"cannot download: {reason}; without a network put {MODEL_NAME} into {folder} and the "
            f"route files into {routes} by hand"
        ) from None
    if as_json:
        print_json(found)
        return
    for name, path in found.items():
        print_line(f"{name}: {path}")


def fetch(url: str, path: Path) -> None:
    """Download to `path`; an interrupted download leaves no file."""
    with (
        replacing(path) as building,
        building.open("wb") as file,
        urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer,
    ):
        size = int(answer.headers.get("Content-Length") or 0)
        with click.progressbar(
            length=size, label=path.name, file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar:
            while block := answer.read(BLOCK_BYTES):
                file.write(block)
                bar.update(len(block))
        if size and file.tell() != size:
            raise OSError(f"{url} ended early")


def unpack(archive: Path, folder: Path) -> None:
    """Extract the route files of an archive into one folder."""
    building = folder.with_name(f".{folder.name}.building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = PurePosixPath(member.filename).name
            if name.endswith(".csv") and not name.startswith("."):
                with opened.open(member) as source, (building / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    if folder.exists():
        folder.rmdir()  # it is empty, or this fails
    building.rename(folder)
