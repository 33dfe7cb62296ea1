"""Runs on other machines by name, and the commands that stream one, and list all, from there."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from ...shared.errors import UsageError
from ...shared.processes.ssh import remote_operant, ssh_command

# Names with these prefixes are not on a machine.
PREFIXES = ("zoo", "hf")


class RemoteName(NamedTuple):
    """`HOST:RUN` taken apart; without RUN, the latest run of that host."""

    host: str
    run: str


def checked_host(host: str, meant: str) -> str:
    """`host`, unless ssh would take it for an option or for two words. Raises UsageError, in which
    it says what was `meant`.
    """
    if not host or host.startswith("-") or any(letter.isspace() for letter in host):
        raise UsageError(f"{meant} does not name a host; write HOST:RUN, as 'gpu-box:cart_pole'")
    return host


def remote_name(wanted: str) -> RemoteName | None:
    """HOST:RUN, or None when `wanted` names no host. Raises UsageError for a host that ssh would
    take for an option.
    """
    host, colon, run = wanted.rpartition(":")
    if not colon or host in PREFIXES:
        return None
    return RemoteName(checked_host(host, f"'{wanted}'"), run)


def stream_command(name: RemoteName, *, may_ask: bool) -> list[str]:
    """The command that streams a run from its host; see `ssh_command`.

    $OPERANT_REMOTE takes the place of `operant` on the other side, for where it is not on the PATH
    that ssh's shell has.
    """
    run = f" -- {shlex.quote(name.run)}" if name.run else ""
    return _operant_there(name.host, f"stream{run}", may_ask)


def list_command(host: str, *, may_ask: bool) -> list[str]:
    """The command that streams the list of a host's runs."""
    return _operant_there(host, "stream --list", may_ask)


def _operant_there(host: str, arguments: str, may_ask: bool) -> list[str]:
    return ssh_command(host, f"{remote_operant() or 'operant'} {arguments}", may_ask=may_ask)
