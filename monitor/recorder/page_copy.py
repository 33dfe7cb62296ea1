"""The copy of a page in the run folder: what is left when memory is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ...shared import MetricsReader, Outcome, PageError
from ...shared.page.layout import ROWS_END_OFFSET, ROWS_HEAD_BYTES, Section
from ...shared.page.page_file import building_name, is_left_behind, save_page_copy
from ...shared.page.page_place import page_path, page_place
from ...shared.processes.lock import is_held
from ...shared.runs.owners import is_own_folder
from ...shared.runs.run_folder import Run


def update_copy(run: Run, reader: MetricsReader) -> None:
    """Copy the page of a process that is alive. One that ends in good order leaves a copy itself,
    and that one stays. Raises OSError or PageError.
    """
    path = run.page_copy_path
    if not _is_file(reader, path):
        _save(reader, path, is_wanted=lambda: reader.outcome() is None)


def complete_copy(run: Run, reader: MetricsReader) -> None:
    """Have the copy be the page as its process left it. Raises OSError or PageError."""
    path = run.page_copy_path
    outcome = reader.outcome()
    if not _is_file(reader, path) and (outcome is None or outcome != _outcome_at(path)):
        _save(reader, path)


def write_outcome(run: Run, reader: MetricsReader, outcome: Outcome) -> None:
    """Replace the outcome in the page that `reader` has open, whose process is gone, and in its
    copy. Raises OSError or PageError.
    """
    _overwrite_outcome(reader, outcome)
    if run.page_copy_path.exists():
        copy = MetricsReader.attach(run.page_copy_path)
        try:
            if copy.header.identity == reader.header.identity:
                _overwrite_outcome(copy, outcome)
        finally:
            copy.detach()


def _overwrite_outcome(reader: MetricsReader, outcome: Outcome) -> None:
    # The page's file may have no name any more, and monitors may have it open.
    fd = os.open(f"/proc/self/fd/{reader.fd}", os.O_WRONLY)
    try:
        os.pwrite(fd, outcome.encode(), reader.header.layout["OUTCOME"].offset)
    finally:
        os.close(fd)


def drop_rows(run: Run) -> None:
    """Leave the ring of rows out of the copy, once all of them are in their file: 11 MiB that hold
    nothing else. Raises OSError or PageError.
    """
    path = run.page_copy_path
    reader = MetricsReader.attach(path)
    try:
        if reader.rows().records:
            ring = reader.header.layout["ROWS"]
            _save(reader, path, lambda: _is_file(reader, path), without=ring)
    finally:
        reader.detach()


def remove_page(run: Run, reader: MetricsReader | None) -> None:
    """Delete the page that was read, and what a process left behind that died while making one.

    A page stays whose writer lives: one made since by another process, and that of a run whose
    folder was copied to where this one lies. Raises OSError.
    """
    paths = [page_path(run)]
    announced = page_place(run).get("page")
    if announced and Path(announced) not in paths:
        paths.append(Path(announced))
    for path in paths:
        if not is_own_folder(path.parent):
            continue
        if is_left_behind(building_name(path)):
            building_name(path).unlink(missing_ok=True)
        if reader and _is_file(reader, path) and not is_held(reader.fd):
            path.unlink()


def _save(
    reader: MetricsReader,
    path: Path,
    is_wanted: Callable[[], bool] = lambda: True,
    without: Section | None = None,
) -> None:
    """`without` a ring of rows, the copy has an empty one."""

    def read(size: int, offset: int) -> bytes:
        data = os.pread(reader.fd, size, offset)
        if len(data) < size:
            raise PageError(f"the page of {path.parent.name} is cut short; its last copy stays")
        return _emptied(reader, data, offset, without) if without else data

    save_page_copy(read, reader.header.layout.page_bytes, path, is_wanted)


def _emptied(reader: MetricsReader, data: bytes, offset: int, ring: Section) -> bytes:
    """`data` from `offset` of a page on, its ring of rows zeros that begin where they end."""
    head = os.pread(reader.fd, ROWS_HEAD_BYTES, ring.offset)
    end_of_rows = head[ROWS_END_OFFSET : ROWS_END_OFFSET + 8]
    head = end_of_rows + head[ROWS_END_OFFSET:]
    first, last = max(offset, ring.offset), min(offset + len(data), ring.offset + ring.size_bytes)
    if first >= last:
        return data
    head = head[first - ring.offset : last - ring.offset]
    inside = head + bytes(last - first - len(head))
    return data[: first - offset] + inside + data[last - offset :]


def _outcome_at(path: Path) -> Outcome | None:
    """The outcome in the copy at `path`; None if there is no copy or no outcome."""
    with suppress(PageError):
        copy = MetricsReader.attach(path)
        try:
            return copy.outcome()
        finally:
            copy.detach()
    return None


def _is_file(reader: MetricsReader, path: Path) -> bool:
    """Whether what `reader` has open is the file at `path`."""
    try:
        return os.path.samestat(os.fstat(reader.fd), path.stat())
    except OSError:
        return False
