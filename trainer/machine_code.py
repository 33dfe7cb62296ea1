"""Machine code on disk, for many processes that compile at once and may be killed meanwhile.

Numba numbers its files by an index, which two processes may write at the same time: the name of one
signature's code then stands for another's. And it names the functions within by a count of each
process's own, so that what two processes compiled, with other constants, may have one name in a
third. Here a file's name follows from what it is for, and every process counts from elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import secrets
from itertools import count
from pathlib import Path
from typing import Any

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.serialize import dumps

from ..shared.errors import PageError
from ..shared.owners import check_file, own
from ..shared.small_file import create_anew, open_regular

DIGEST_BYTES = 32
COUNT_BITS = 60  # of which two processes begin at the same number only by a rare chance


def _count_from_elsewhere() -> None:
    FunctionIdentity._unique_ids = count(secrets.randbits(COUNT_BITS))


_count_from_elsewhere()
os.register_at_fork(after_in_child=_count_from_elsewhere)


def kept_on_disk(loop: Any) -> Any:
    """The same compiled loop, made with `cache=True`, its machine code in `Files`."""
    cache: Any = getattr(loop, "_cache", None)
    files: Any = getattr(cache, "_cache_file", None)
    if files is not None:  # else nothing is compiled, as with NUMBA_DISABLE_JIT
        stamp = files._source_stamp
        cache._cache_file = Files(Path(cache.cache_path), cache._impl.filename_base, stamp)
    return loop


class Files:
    """The machine code of one loop: a file for each signature, written in one step, for this user
    alone. What is damaged, belongs to another user, can be written by others or cannot be written
    is as if it were not there. Has the methods that Numba calls.
    """

    def __init__(self, folder: Path, name: str, source_stamp: Any) -> None:
        self._folder, self._name = folder, name
        self._of = (numba.__version__, source_stamp)

    def path(self, key: Any) -> Path:
        """Where the code for `key` lies, which says the signature, the processor and the source."""
        digest = hashlib.sha256(repr((self._of, key)).encode()).hexdigest()
        return self._folder / f"{self._name}.{digest[:16]}.nbc"

    def load(self, key: Any) -> Any:
        """What was saved for `key`; None where there is nothing that can be used."""
        try:
            fd = open_regular(self.path(key))
            with os.fdopen(fd, "rb") as file:
                check_file(fd, own())  # it is loaded by pickle, and is run
                content = file.read()
        except (OSError, PageError):
            return None
        digest, body = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            return None
        known, code = pickle.loads(body)
        return code if known == key else None  # types of one name may be others

    def save(self, key: Any, code: Any) -> None:
        body: bytes = dumps((key, code))  # type: ignore[no-untyped-call]
        path = self.path(key)
        building = path.with_name(f"{path.name}.tmp.{secrets.token_hex(8)}")
        with contextlib.suppress(OSError):  # a full disk: it is compiled again another time
            try:
                with os.fdopen(create_anew(building), "wb") as file:
                    file.write(hashlib.sha256(body).digest() + body)
                os.replace(building, path)
            finally:
                building.unlink(missing_ok=True)

    def flush(self) -> None:
        """Whoever compiles anew writes over what there is."""
