"""An ssh server of the test's own on 127.0.0.1, with keys that are thrown away."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import wait_for

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
MISSING = "no sshd on this machine" if SSHD is None or not shutil.which("ssh") else ""


@contextmanager
def ssh_server(folder: Path) -> Iterator[str]:
    """Serve until the block ends; gives the ssh command that reaches it, options included."""
    folder.mkdir(mode=0o700)
    for name in ("host_key", "user_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True
        )
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    port = _free_port()
    server = subprocess.Popen(
        [SSHD or "sshd", "-D", "-f", "/dev/null", *_options(folder, port)],
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(lambda: server.poll() is not None or _answers(port))
        assert server.poll() is None, server.stderr and server.stderr.read()
        yield (
            f"ssh -F /dev/null -p {port} -i {folder}/user_key -l {getpass.getuser()} "
            f"-o StrictHostKeyChecking=no -o LogLevel=ERROR "
            f"-o UserKnownHostsFile={folder}/known_hosts"
        )
    finally:
        server.kill()
        server.communicate()


def _options(folder: Path, port: int) -> list[str]:
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd of root drops its privileges
    return [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
