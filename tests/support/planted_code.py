"""Runs whose configuration names planted code, and a user who looks at them.

Run by root in a mount namespace of its own, as `test_planted_code.py` does:

    unshare --mount --propagation private python planted_code.py EMPTY_FOLDER

It refuses to run anywhere else. The folder becomes a throw-away file system that holds the homes
of both users and everything they do. Prints a JSON list: each command, whether planted code ran in
it, its exit code and what it said.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ATTACKER = 2001
PLANTED = """
import os
with open(os.environ["PLANTED_CODE_RAN"], "a") as file:
    file.write("ran\\n")
import gymnasium
def make():
    return gymnasium.make("CartPole-v1")
"""
COMMANDS = {
    "eval": ["eval", "RUN", "--episodes", "1"],
    "play": ["play", "RUN", "--to", "FOLDER/one.gif", "--steps", "2"],
    "export --to onnx": ["export", "RUN", "--to", "onnx", "--output", "FOLDER/one.onnx"],
    "train --resume": ["train", "--resume", "RUN", "--set", "total_env_steps=1000000"],
}


def check_is_inside(folder: Path) -> None:
    """Exits where this process shares its mounts with whoever started it, or the folder is not
    empty.
    """
    try:
        ours, theirs = (os.readlink(f"/proc/{pid}/ns/mnt") for pid in ("self", os.getppid()))
    except OSError as error:
        sys.exit(f"planted_code.py: cannot tell whether this is a mount namespace: {error}")
    if ours == theirs or os.getuid() != 0:
        sys.exit("planted_code.py runs only in a mount namespace of its own, as its root")
    if not folder.is_dir() or any(folder.iterdir()):
        sys.exit(f"planted_code.py: {folder} is no empty folder")


def environment(home: Path, ran: Path, pages: Path) -> dict[str, str]:
    """That of a user who owns `home`; planted code that runs says so in `ran`."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {
        "HOME": str(home), "OPERANT_HOME": str(home / "operant"), "OPERANT_PAGES": str(pages),
        "OPERANT_RECORDER": "off", "OPERANT_ALERTS": "off", "PLANTED_CODE_RAN": str(ran),
        "NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def plant(home: Path, folder: Path) -> None:
    """The attacker's part: a run that looks as if it had been begun in `folder`, its module in that
    folder and in the run's own media.
    """
    from operant.shared.runs.provenance import provenance
    from operant.shared.runs.run_folder import create_run
    from operant.trainer.config.from_values import make_config
    from operant.trainer.experiment.checkpoints import Checkpoint, save_checkpoint
    from operant.trainer.experiment.untrained import make_policy

    os.chdir(folder)
    (folder / "planted.py").write_text(PLANTED)
    config = make_config({"env": "gymnasium:planted:make", "device": "cpu"})
    values = config.model_dump(mode="json")
    manifest: dict[str, Any] = {**provenance(()), "config": values}
    manifest |= seals_of_attacker(values)
    run, lock = create_run("planted", manifest, rank=0)
    lock.release()
    state = {"policy": make_policy(config).state_dict()}
    save_checkpoint(run.checkpoint_folder, Checkpoint(1, 8192, 1, values, state), keep=1)
    (run.folder / "media").mkdir()
    (run.folder / "media" / "planted.py").write_text(PLANTED)


def seals_of_attacker(values: dict[str, Any]) -> dict[str, Any]:
    """What proves to the attacker's own operant that the attacker began the run."""
    try:
        from operant.trainer.config.stored_code import added_seals
    except ImportError:  # an operant that asks for no proof
        return {}
    return dict(added_seals({}, [values]))


def looks(root: Path) -> Iterator[tuple[str, Path, Path, list[str]]]:
    """Ways in which a victim, root here, meets the run: which, home, current folder and commands.
    Each command takes seconds, so most ways have one.
    """
    shared = root / "shared"
    attackers = root / "attacker"
    (run,) = (attackers / "operant" / "runs").iterdir()
    yield "in a home of the attacker's, from the shared folder", attackers, shared, ["eval"]
    victim = root / "victim"
    shutil.copytree(run, victim / "operant" / "runs" / run.name)  # as an archive is unpacked
    yield "copied into the victim's home, from the shared folder", victim, shared, [*COMMANDS]
    copied = victim / "operant" / "runs" / run.name
    yield "copied into the victim's home, from its media", victim, copied / "media", ["eval"]


def main(root: Path) -> None:
    check_is_inside(root)
    mount = ["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(root)]
    subprocess.run(mount, check=True)
    for name in ("attacker", "shared", "victim", "out"):
        (root / name).mkdir()
    for name in ("attacker", "shared"):
        os.chown(root / name, ATTACKER, ATTACKER)
    attackers = environment(root / "attacker", root / "attacker" / "own", root / "attacker" / "p")
    subprocess.run(
        # May read all, since the checkout can lie in a folder that is closed to other users.
        ["setpriv", f"--reuid={ATTACKER}", f"--regid={ATTACKER}", "--clear-groups",
         "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
         sys.executable, __file__, "--plant", str(root)],
        env=attackers, cwd=root / "shared", check=True,
    )  # fmt: skip
    found = []
    for number, (way, home, folder, commands) in enumerate(looks(root)):
        (run,) = (home / "operant" / "runs").iterdir()
        started = []
        for command in commands:
            out = root / "out" / f"{number}-{len(started)}"
            out.mkdir()
            told = [
                word.replace("RUN", run.name).replace("FOLDER", str(out))
                for word in COMMANDS[command]
            ]
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "operant", *told],
                env=environment(home, out / "ran", out / "pages"), cwd=folder, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            started.append((command, process, out))
        for command, process, out in started:
            said, _ = process.communicate(timeout=200)
            found.append({
                "command": command, "way": way, "has_run": (out / "ran").exists(),
                "exit_code": process.returncode, "said": said,
            })  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "--plant":
        plant(Path(sys.argv[2]) / "attacker", Path(sys.argv[2]) / "shared")
    else:
        main(Path(sys.argv[1]))
