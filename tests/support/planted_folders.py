"""Another user plants folders and links where operant looks for runs; nothing of theirs may be
listed, read, written or deleted through them.

The attack runs in a mount namespace of its own, with memory of its own at /dev/shm and a home that
is thrown away; it refuses to run anywhere else. Call it without arguments: it enters the namespace
and prints what every attack led to, as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SHM = Path("/dev/shm")
ATTACKER = 1001
PIECES = ("photos/2019.jpg", "Documents/thesis.tex", ".gone.0123abcd.removing/diary")
MONTHS_AGO_S = 90 * 86_400.0
FORGED = "20991231-235959-forged-zzzz"  # newer than any run
NAMESPACE = "/proc/self/ns/mnt"

# As root a mount namespace is enough; others need a user namespace with more than one user in it.
ENTER = ["unshare", "--mount"]
ENTER_AS_USER = ["unshare", "--user", "--map-root-user", "--map-auto", "--mount"]


def attacked(environment: dict[str, str] | None = None) -> dict[str, Any] | None:
    """What each attack led to; None where no namespace can be had."""
    enter = ENTER if os.getuid() == 0 else ENTER_AS_USER
    if (
        not shutil.which("unshare")
        or subprocess.run([*enter, "true"], capture_output=True).returncode
    ):
        return None
    outside = os.readlink(NAMESPACE)
    done = subprocess.run(
        [*enter, sys.executable, __file__, "--inside", outside],
        capture_output=True,
        text=True,
        env={**(environment or os.environ)},
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout))


def main() -> int:
    if sys.argv[1:2] != ["--inside"]:
        print(json.dumps(attacked(), indent=2))
        return 0
    outside = sys.argv[2] if len(sys.argv) > 2 else os.readlink(NAMESPACE)
    if os.readlink(NAMESPACE) in (outside, _namespace_of_init()) or os.getuid() != 0:
        print(
            "planted_folders: this runs only inside a mount namespace of its own", file=sys.stderr
        )
        return 2
    home = Path(tempfile.mkdtemp(prefix="operant-planted-"))
    for folder in (SHM, home):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", folder], check=True)
    try:
        print(json.dumps({attack.__name__: outcome_of(attack, home) for attack in ATTACKS}))
    finally:
        subprocess.run(["umount", home], check=True)
        home.rmdir()
    return 0


def _namespace_of_init() -> str:
    try:
        return os.readlink("/proc/1/ns/mnt")
    except OSError:  # root of a user namespace may not look
        return ""


def outcome_of(attack: Callable[[Path], dict[str, str]], place: Path) -> dict[str, Any]:
    """A home is made, `attack` is prepared, and its victim uses operant as ever."""
    home = place / "victim"
    home.mkdir(mode=0o755)
    for piece in PIECES:
        path = home / piece
        path.parent.mkdir()
        path.write_text("precious")
        for each in (path, path.parent):
            os.utime(each, (time.time() - MONTHS_AGO_S,) * 2)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPERANT_RECORDER": "off",
    }
    environment |= attack(home) or {}
    before = _tree(place)

    def operant(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "operant", *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, cwd="/",
        )  # fmt: skip

    runs = operant("runs", "--json")
    latest = operant("status")
    offered = subprocess.run(
        [sys.executable, "-P", "-m", "operant"], capture_output=True, text=True, cwd="/",
        env=environment | {"_OPERANT_COMPLETE": "bash_complete", "COMP_WORDS": "operant status "},
    )  # fmt: skip
    removals = [
        operant(*words).stderr
        for words in (
            ("note", "photos", "x"), ("rm", "photos", "--yes"),
            ("rm", "--older-than", "30d", "--yes"),
        )
    ]  # fmt: skip
    outcome = {
        "listed": [run["run"] for run in json.loads(runs.stdout)],
        "offered": [line.partition(",")[2] for line in offered.stdout.split()],
        "latest": latest.stdout.partition(":")[0],
        "changed": sorted(before ^ _tree(place)),
        "said": runs.stderr.splitlines(),
        "removals": removals,
    }
    for folder in (*SHM.iterdir(), *place.iterdir()):
        shutil.rmtree(folder)
    return outcome


def _tree(folder: Path) -> set[str]:
    """Every file, folder and link below `folder` and on memory."""
    return {
        str(Path(parent, name))
        for root in (folder, SHM)
        for parent, folders, files in os.walk(root)
        for name in (*folders, *files)
    }


@contextmanager
def as_attacker() -> Iterator[None]:
    """What is made inside belongs to the other user."""
    os.setegid(ATTACKER)
    os.seteuid(ATTACKER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def _name_in_memory(home: Path) -> str:
    """What the victim's folder of runs in memory is called: anyone can compute it."""
    runs = home / ".local" / "state" / "operant" / "runs"
    return f"runs-{zlib.crc32(os.fsencode(runs)):08x}"


def _forge(runs: Path) -> None:
    (runs / FORGED).mkdir(parents=True)
    (runs / FORGED / "run.toml").write_text(f'id = "{FORGED}"\nname = "forged"\n')
    (runs / FORGED / "lock").touch()


def a_page_folder_with_a_link_to_the_home(home: Path) -> dict[str, str]:
    with as_attacker():
        pages = SHM / "operant-0"
        pages.mkdir(mode=0o755)
        (pages / _name_in_memory(home)).symlink_to(home)
    return {}


def a_page_folder_with_a_forged_run(home: Path) -> dict[str, str]:
    with as_attacker():
        pages = SHM / "operant-0"
        pages.mkdir(mode=0o755)
        _forge(pages / _name_in_memory(home))
    return {}


def a_link_in_a_page_folder_that_all_can_write(home: Path) -> dict[str, str]:
    pages = SHM / "operant-0"
    pages.mkdir()
    pages.chmod(0o777)
    with as_attacker():
        (pages / _name_in_memory(home)).symlink_to(home)
    return {}


def a_link_in_a_page_folder_that_the_user_named(home: Path) -> dict[str, str]:
    with as_attacker():
        pages = SHM / "shared"
        pages.mkdir(mode=0o755)
        (pages / _name_in_memory(home)).symlink_to(home)
    return {"OPERANT_PAGES": str(pages)}


def a_home_of_another_user_with_links(home: Path) -> dict[str, str]:
    with as_attacker():
        theirs = SHM / "lab"
        theirs.mkdir(mode=0o755)
        (theirs / "runs").symlink_to(home)
        (theirs / "sweeps").symlink_to(home)
    return {"OPERANT_HOME": str(theirs)}


def a_run_that_is_a_link_in_a_home_of_another_user(home: Path) -> dict[str, str]:
    with as_attacker():
        theirs = SHM / "lab"
        (theirs / "runs").mkdir(mode=0o755, parents=True)
        (theirs / "runs" / "photos").symlink_to(home / "photos")
    return {"OPERANT_HOME": str(theirs)}


def a_folder_of_runs_that_all_can_write(home: Path) -> dict[str, str]:
    runs = home / "lab" / "runs"
    runs.mkdir(parents=True)
    runs.chmod(0o777)
    with as_attacker():
        _forge(runs)
        (runs / "photos").symlink_to(home / "photos")
    return {"OPERANT_HOME": str(home / "lab")}


ATTACKS = (
    a_page_folder_with_a_link_to_the_home,
    a_page_folder_with_a_forged_run,
    a_link_in_a_page_folder_that_all_can_write,
    a_link_in_a_page_folder_that_the_user_named,
    a_home_of_another_user_with_links,
    a_run_that_is_a_link_in_a_home_of_another_user,
    a_folder_of_runs_that_all_can_write,
)


if __name__ == "__main__":
    sys.exit(main())
