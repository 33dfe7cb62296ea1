"""Artifacts in the shape of wandb's: kept as references, in `artifacts.jsonl` of a run's folder.

The files stay where they are; a reference holds path, size and SHA-256, so that it can be told
later whether they are still the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ..runs.find_runs import own_runs
from ..runs.run_folder import Run
from ..runs.small_file import open_regular, open_to_append
from ..text.plain_values import plain, text_of
from .accepted import Accepted, say_once, unknown_keywords
from .media import Media
from .media_folder import clean, clean_ending
from .values import as_mapping
from .wandb_names import ARTIFACT

MAX_FILES = 10_000  # of one artifact
MAX_DIGESTED_BYTES = 1 << 30  # a larger file has no digest: reading it would hold up the loop
MAX_RUNS_SEARCHED = 200


class Entry:
    """One file of an artifact, or what a reference to elsewhere says."""

    def __init__(self, name: str, path: str, size: int | None = None, digest: str = "") -> None:
        self.name, self.path, self.size, self.digest = name, path, size, digest

    def download(self, root: Any = None, **_: Any) -> str:
        """The path of the file; with `root`, that of a copy below it."""
        if root is None or not os.path.isfile(self.path):
            return self.path
        copy = _place(root, self.name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        return str(shutil.copyfile(self.path, copy))

    local_path = download

    def ref_target(self) -> str:
        return self.path


class Artifact:
    """Files, folders and references under a name and a type."""

    def __init__(
        self,
        name: str = "artifact",
        type: str = "",
        description: str | None = None,
        metadata: Any = None,
        **keywords: Any,
    ) -> None:
        for known in ("incremental", "use_as", "storage_region", "digest_algorithm"):
            keywords.pop(known, None)
        unknown_keywords("Artifact", keywords)
        self.name, self.type = text_of(name), text_of(type)
        self.description = description
        self.metadata: dict[str, Any] = {}
        with contextlib.suppress(Exception):  # whatever a foreign object raises
            self.metadata = as_mapping(metadata)
        self.aliases: list[str] = []
        self.tags: list[str] = []
        self.version = "v0"
        self.entries: dict[str, Entry] = {}

    def add_file(self, local_path: Any, name: str | None = None, **_: Any) -> Entry:
        path = os.path.abspath(os.fspath(local_path))
        return self._add(Entry(name or os.path.basename(path), path, *_size_and_digest(path)))

    def add_dir(self, local_path: Any, name: str | None = None, **_: Any) -> None:
        """All plain files below; links are not followed."""
        root = os.path.abspath(os.fspath(local_path))
        for folder, _folders, files in os.walk(root):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.isfile(path) and not os.path.islink(path):
                    within = os.path.relpath(path, root)
                    self.add_file(path, os.path.join(name, within) if name else within)

    def add_reference(self, uri: Any, name: Any = None, **_: Any) -> list[Entry]:
        text = text_of(getattr(uri, "path", uri))
        name = text.rstrip("/").rpartition("/")[2] if name is None else text_of(name)
        return [self._add(Entry(name, text))]

    def add(self, obj: Any, name: str = "", **_: Any) -> Entry:
        """A table, a picture or the like, written into a temporary folder."""
        folder = Path(tempfile.mkdtemp(prefix="operant-artifact-"))
        written: list[Path] = []

        def write_file(stem: str, ending: str, content: bytes) -> Path:
            path = folder / f"{clean(stem)}{clean_ending(ending)}"
            path.write_bytes(content)
            written.append(path)
            return path

        if isinstance(obj, Media):
            try:
                obj.write(name or obj.kind, write_file)
            except (ValueError, OSError) as error:
                say_once(f"artifact {name}", f"'{name}' of {self.name} is not kept: {error}")
        entries = [self.add_file(path) for path in written]
        return entries[-1] if entries else self._add(Entry(name, ""))

    @contextlib.contextmanager
    def new_file(
        self, name: str, mode: str = "x", encoding: str | None = None, **_: Any
    ) -> Iterator[Any]:
        """A file to write, in a temporary folder; it belongs to the artifact once it is closed."""
        path = Path(tempfile.mkdtemp(prefix="operant-artifact-")) / clean(Path(name).name)
        with open(path, mode, encoding=encoding) as file:
            yield file
        self.add_file(path, name)

    def wait(self, timeout: Any = None) -> Artifact:
        return self

    finalize = save = delete = wait

    def link(self, *_: Any, **__: Any) -> Artifact:
        return self

    def download(self, root: Any = None, **_: Any) -> str:
        """The folder where the files lie under their names in the artifact, as links where they lie
        elsewhere or have others; with `root`, copies below that.
        """
        if root is not None:
            os.makedirs(root, exist_ok=True)
            for entry in self.entries.values():
                entry.download(root)
            return str(root)
        files = [entry for entry in self.entries.values() if os.path.isfile(entry.path)]
        folders = {_folder_of(entry) for entry in files}
        if len(folders) == 1 and None not in folders:
            return str(folders.pop())
        gathered = tempfile.mkdtemp(prefix="operant-artifact-")
        for entry in files:
            link = _place(gathered, entry.name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(entry.path)
        return gathered

    checkout = download

    def file(self, root: Any = None) -> str:
        """The path of the only file."""
        return next((entry.download(root) for entry in self.entries.values()), "")

    def files(self, *_: Any, **__: Any) -> list[Entry]:
        return list(self.entries.values())

    def get_path(self, name: str) -> Any:
        return self.entries.get(name, Accepted(f"Artifact.get_path({name!r})"))

    get_entry = get_path

    def remove(self, item: Any, *_: Any, **__: Any) -> None:
        self.entries.pop(text_of(getattr(item, "name", item)), None)

    @property
    def size(self) -> int:
        return sum(entry.size or 0 for entry in self.entries.values())

    @property
    def file_count(self) -> int:
        return len(self.entries)

    @property
    def digest(self) -> str:
        """SHA-256 over names and digests of the files."""
        digests = sorted(f"{entry.name} {entry.digest}\n" for entry in self.entries.values())
        return hashlib.sha256("".join(digests).encode("utf-8", "replace")).hexdigest()

    @property
    def qualified_name(self) -> str:
        return f"{self.name}:{self.version}"

    source_name = qualified_name

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name, "type": self.type, "version": self.version,
            "aliases": self.aliases, "tags": self.tags, "description": self.description,
            "metadata": plain(self.metadata), "logged": time.time(), "digest": self.digest,
            "files": [vars(entry) for entry in self.entries.values()],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Artifact:
        artifact = cls(found["name"], found["type"], found["description"], found["metadata"])
        artifact.version, artifact.aliases = found["version"], list(found["aliases"])
        for file in found["files"]:
            artifact._add(Entry(file["name"], file["path"], file["size"], file["digest"]))
        return artifact

    def _add(self, entry: Entry) -> Entry:
        if len(self.entries) < MAX_FILES:
            self.entries[entry.name] = entry
        else:
            say_once("artifact files", f"{self.name}: an artifact refers to {MAX_FILES} files")
        return entry

    def __getattr__(self, name: str) -> Any:
        if name not in ARTIFACT:
            raise AttributeError(f"an artifact has no '{name}'")
        return Accepted(f"Artifact.{name}")


def artifact_of(artifact_or_path: Any, name: Any = None, type: Any = None) -> Artifact:
    """An artifact itself, or one of a file or a folder."""
    if isinstance(artifact_or_path, Artifact):
        return artifact_or_path
    path = os.fspath(artifact_or_path)
    artifact = Artifact(name or os.path.basename(path.rstrip(os.sep)), type or "unspecified")
    if os.path.isdir(path):
        artifact.add_dir(path)
    elif "://" in path:
        artifact.add_reference(path)
    else:
        artifact.add_file(path)
    return artifact


def keep_artifact(folder: Path, artifact: Artifact, aliases: Iterable[str] | str | None) -> None:
    """Append the reference to the run in `folder`, as its next version of that name."""
    aliases = [aliases] if isinstance(aliases, str) else list(aliases or ["latest"])
    artifact.aliases = [*artifact.aliases, *(a for a in aliases if a not in artifact.aliases)]
    earlier = sum(found["name"] == artifact.name for found in _kept_in(folder))
    artifact.version = f"v{earlier}"
    line = json.dumps(artifact.as_dict(), default=str) + "\n"
    with os.fdopen(open_to_append(folder / "artifacts.jsonl"), "a", encoding="utf-8") as file:
        file.write(line)


def find_artifact(wanted: str) -> Artifact | None:
    """The newest that this user's runs refer to as `name`, `name:version` or `name:alias`."""
    name, _, which = wanted.rpartition("/")[2].partition(":")
    for run in islice(own_runs(), MAX_RUNS_SEARCHED):
        for found in reversed(list(_kept_in(run.folder))):
            is_wanted = not which or which in ("latest", found["version"], *found["aliases"])
            if found["name"] == name and is_wanted:
                return Artifact.from_dict(found)
    return None


def artifacts_of(run: Run) -> list[Artifact]:
    """All that a run refers to, oldest first."""
    return [Artifact.from_dict(found) for found in _kept_in(run.folder)]


def _kept_in(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "artifacts.jsonl"
    with (
        contextlib.suppress(OSError),
        os.fdopen(open_regular(path, folder), encoding="utf-8") as file,
    ):
        for line in file:
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def _place(root: Any, name: str) -> Path:
    """Where the file of that name lies below `root`, and nowhere else."""
    return Path(root, *(clean(part) for part in Path(name).parts))


def _folder_of(entry: Entry) -> str | None:
    """The folder below which a file has its name in the artifact; None where it has another."""
    path, name = Path(entry.path), Path(entry.name)
    if path.parts[-len(name.parts) :] != name.parts:
        return None
    return str(Path(*path.parts[: -len(name.parts)]))


def _size_and_digest(path: str) -> tuple[int | None, str]:
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            return None, ""
        if about.st_size > MAX_DIGESTED_BYTES:
            return about.st_size, ""
        with open(path, "rb") as file:
            return about.st_size, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        say_once(f"artifact {path}", f"{path} cannot be referred to: {error.strerror}")
        return None, ""
