"""docs/notebooks/*.ipynb: executed, with their outputs. `make notebooks` writes them."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


def executed(path: Path) -> Any:
    """A notebook with its outputs, run from an empty folder. Raises CellExecutionError."""
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPERANT_HOME"] = str(Path(folder, "home"))
        NotebookClient(book, timeout=300, kernel_name="python3", cwd=folder).execute()
        text = nbformat.writes(book).replace(folder, "~")
    return nbformat.reads(re.sub(r'"iopub[^"]*": "[^"]*",?\s*', "", text), as_version=4)


if __name__ == "__main__":
    for each in sorted(FOLDER.glob("*.ipynb")):
        book = executed(each)
        for cell in book.cells:
            cell.metadata.pop("execution", None)
        book.metadata.pop("widgets", None)
        nbformat.write(book, each)
        sys.stdout.write(f"{each}\n")
