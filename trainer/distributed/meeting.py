"""How ranks meet before they learn: each introduces itself in a store of torch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from torch import distributed

from ...shared.errors import ConfigError, OperantError
from ...shared.page.writer import MetricsWriter
from ...shared.runs.provenance import code_digest, provenance
from ..config.flat_keys import flat_keys
from .place import Place
from .watch import say_alive

MEET_WITHIN_S = 300.0  # importing everything from a cold disk takes its time
SOON_S = 10.0  # usual time on a warm disk; an event names slower ranks
TRY_FOR_S = 2.0
LOOK_AGAIN_S = 0.05

FREE_KEYS = ("num_threads", "recorder")  # may differ between ranks, as their machines do
PACKAGES = ("operant-rl", "torch", "numba")  # must have the same versions in all ranks
CODE = "operant's source files"  # must be the same as well


class MeetingError(OperantError):
    """Not all ranks came, or one was stopped before they had."""


def versions() -> dict[str, str]:
    """The versions that must be the same in all ranks, by name; `None` for a package that is not
    installed.
    """
    installed = provenance(PACKAGES)["versions"]
    # A build's own label, as in 2.13.0+cpu, names the hardware that it is for.
    numbers = {name: str(installed.get(name)).partition("+")[0] for name in PACKAGES}
    return {**numbers, CODE: code_digest()}


@dataclass
class Introduction:
    """The description that a rank sends to the others. Without a `config` it takes that of rank 0.
    `device` is `cuda` if it has a GPU of its own.
    """

    host: str
    pid: int
    address: str
    versions: Mapping[str, str]
    config: Mapping[str, Any] | None
    split: str
    named: str = field(default="")
    device: str = "cpu"


def store_of(place: Place, should_stop: Callable[[], bool]) -> Any:
    """The store, which rank 0 hosts unless the program that started the ranks does. Raises
    MeetingError.
    """
    deadline = time.monotonic() + MEET_WITHIN_S
    while True:
        try:
            store: Any = distributed.TCPStore(  # type: ignore[attr-defined]
                place.master_addr, place.master_port, place.world_size, place.hosts_store,
                timedelta(seconds=TRY_FOR_S), wait_for_workers=False,
                master_listen_fd=place.listen_fd,
            )  # fmt: skip
            break
        except (RuntimeError, ValueError) as error:
            where = f"{place.master_addr} port {place.master_port}"
            if place.hosts_store:
                why = "it is in use" if "EADDRINUSE" in str(error) else _line(error)
                raise MeetingError(f"rank 0 cannot listen at {where}: {why}") from None
            if should_stop() or time.monotonic() > deadline:
                raise MeetingError(f"nobody answers at {where}: {_line(error)}") from None
    store.set_timeout(timedelta(seconds=MEET_WITHIN_S))
    prefix: Any = distributed.PrefixStore  # type: ignore[attr-defined]
    return prefix(f"operant/{place.attempt}", store)


def introduced(
    store: Any,
    place: Place,
    own: Introduction,
    should_stop: Callable[[], bool],
    metrics: MetricsWriter | None = None,
) -> list[Introduction]:
    """The introductions of all ranks, when all have come. Until then `metrics` shows how many have.
    Raises MeetingError.
    """
    if store.add(f"came/{place.rank}", 1) > 1:
        raise MeetingError(
            f"rank {place.rank} is there already at {place.master_addr} port {place.master_port}: "
            "another run may use this port"
        )
    say_alive(store, place.rank)
    store.set(f"rank/{place.rank}", json.dumps(vars(own)))
    introductions: list[Introduction] = []
    began = time.monotonic()
    has_warned = metrics is None
    for rank in range(place.world_size):
        key = f"rank/{rank}"
        while not _in_store(store, key, place):
            if metrics:
                metrics.phase("waiting", len(introductions), place.world_size, "ranks")
            if should_stop():
                raise MeetingError(f"stopped while rank {rank} had not come")
            waited_s = time.monotonic() - began
            if metrics and not has_warned and waited_s > SOON_S:
                has_warned = True
                metrics.event(
                    "warning",
                    f"rank {rank} has not come within {SOON_S:.0f} s; it is waited for up to "
                    f"{MEET_WITHIN_S:.0f} s",
                )
            if waited_s > MEET_WITHIN_S:
                raise MeetingError(
                    f"rank {rank} of {place.world_size} has not come within {MEET_WITHIN_S:.0f} s"
                )
            time.sleep(LOOK_AGAIN_S)
        said = json.loads(store.get(key))
        said["named"] = f"rank {rank} ({said['host']}, process {said['pid']})"
        known = {entry.name for entry in fields(Introduction)}  # another version may have more
        introductions.append(Introduction(**{name: said[name] for name in said if name in known}))
    return introductions


def _in_store(store: Any, key: str, place: Place) -> bool:
    try:
        return bool(store.check([key]))
    except RuntimeError as error:
        raise MeetingError(
            f"the ranks' meeting place at {place.master_addr} port {place.master_port} is gone: "
            f"{_line(error)}"
        ) from None


def check_alike(ranks: Sequence[Introduction]) -> None:
    """Raises ConfigError with the rank's number if its versions or its configuration differ from
    rank 0's.
    """
    first = ranks[0]
    for other in ranks[1:]:
        for name, version in first.versions.items():
            differing = other.versions.get(name)
            if differing != version:
                raise ConfigError(
                    f"{other.named} has {name} {differing}, and {first.named} has {version}; "
                    "all need the same"
                )
        if other.split != first.split:
            raise ConfigError(
                f"{other.named} has split = {other.split or 'none'}, and {first.named} has "
                f"{first.split or 'none'}"
            )
        if other.config is not None and first.config is not None:
            _check_same_config(first, other)


def _check_same_config(first: Introduction, other: Introduction) -> None:
    expected, actual = (flat_keys(dict(rank.config or {})) for rank in (first, other))
    for key in sorted(expected.keys() | actual.keys()):
        if key.split(".")[0] not in FREE_KEYS and expected.get(key) != actual.get(key):
            raise ConfigError(
                f"{other.named} has {key} = {actual.get(key)}, and {first.named} has "
                f"{expected.get(key)}; all need the same configuration"
            )


def wait_until_read(store: Any, place: Place, within_s: float) -> None:
    """Say that this rank has read the introductions. Rank 0, which hosts the store, waits up to
    `within_s` until all have.
    """
    try:
        store.set(f"read/{place.rank}", "")
        keys = [f"read/{rank}" for rank in range(place.world_size)]
        deadline = time.monotonic() + within_s
        while place.hosts_store and not store.check(keys) and time.monotonic() < deadline:
            time.sleep(LOOK_AGAIN_S)
    except RuntimeError:
        return  # the store is gone, and the other ranks with it


def _line(error: Exception) -> str:
    """The first line of torch's message, without its C++ stack."""
    text = str(error).partition("\n")[0].strip()
    return text.partition(" Exception raised from")[0][:200] or type(error).__name__
