"""A process joins the other ranks, and leaves them in good order."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence

import torch

from ...shared.errors import ConfigError
from ...shared.runs.session import RunSession
from ..config import TrainConfig
from ..distributed import meeting
from ..distributed.connection import Connection, address_towards, backend_of, reachable_address
from ..distributed.meeting import Introduction
from ..distributed.place import Place
from ..distributed.process_group import DistributedGroup, ProcessGroup
from ..distributed.split import shares_of
from ..distributed.watch import ENDED, RankLostError, Watch
from ..experiment.plan import check_ranks
from ..machine.device import num_gpus, why_no_cuda

READ_WITHIN_S = 3.0


@contextlib.contextmanager
def joined(
    place: Place,
    config: TrainConfig | None,
    split: str = "",
    should_stop: Callable[[], bool] = lambda: False,
    session: RunSession | None = None,
) -> Iterator[tuple[TrainConfig, ProcessGroup]]:
    """Meet the other ranks; yields the configuration, by default that of rank 0, and the group. All
    ranks end with an error that is raised inside. Rank 0 has the `session` of the run. Raises
    OperantErrors that name ranks.
    """
    if config is not None:
        check_ranks(config, split, place.world_size)
    own = Introduction(
        socket.gethostname(), os.getpid(), address_towards(place.master_addr, place.master_port),
        meeting.versions(), config.model_dump(mode="json") if config else None, split,
        device=own_gpu(place),
    )  # fmt: skip
    store = meeting.store_of(place, should_stop)
    introductions = meeting.introduced(
        store, place, own, should_stop, session.metrics if session else None
    )
    try:
        meeting.check_alike(introductions)
        config = config or _config_of(introductions[0])
        device = device_of(config, place, introductions)
    except ConfigError:
        meeting.wait_until_read(store, place, READ_WITHIN_S)
        raise
    names = [one.named for one in introductions]
    watch = Watch(store.clone(), place.rank, names)
    try:
        addresses = [one.address for one in introductions]
        address = reachable_address(own.address, addresses, place.master_port)
        backend = backend_of(device.type)
        connection = Connection(store, place, backend, address, watch)
        interface = connection.interface or "its own choice of interface"
        if session:
            connection.beat = session.metrics.beat
        shares = shares_of(config, split, place.world_size)
        pairs = zip(shares, introductions, strict=True)
        counts = ", ".join(f"{share.num_envs} on {one.host}" for share, one in pairs)
        ranks = DistributedGroup(place.rank, shares, connection.all_reduce)
        ranks.num_on_machine, ranks.device = place.local_world_size, device
        ranks.watch = watch
        ranks.notices = (
            f"{place.world_size} ranks learn together over {backend} on {interface} ({address})",
            f"environments of ranks 0 to {ranks.size - 1}: {counts}",
            *_unused_gpu(config),
        )
        yield config, ranks
        watch.say(ENDED)
        connection.close()
    except BaseException as error:
        _fail(watch, place, error)
        raise
    finally:
        watch.close()


def _config_of(first: Introduction) -> TrainConfig:
    from ..config.from_values import make_config

    config: TrainConfig = make_config(dict(first.config or {}))
    return config


def own_gpu(place: Place) -> str:
    """`cuda` where this rank has the GPU of its number on this machine, else `cpu`."""
    return "cuda" if place.local_rank < num_gpus() else "cpu"


def device_of(config: TrainConfig, place: Place, ranks: Sequence[Introduction]) -> torch.device:
    """The device of this rank: its GPU with `device = cuda`, else the processor. Raises
    ConfigError, which names the rank, if one has no GPU.
    """
    if config.device != "cuda":
        return torch.device("cpu")
    for one in ranks:
        if one.device != "cuda":
            raise ConfigError(f"device = cuda: {one.named} has no GPU of its own; use cpu")
    device = torch.device("cuda", place.local_rank)
    torch.cuda.set_device(device)
    return device


def _unused_gpu(config: TrainConfig) -> Iterator[str]:
    if config.device == "auto" and not why_no_cuda():
        yield (
            "the GPU of rank 0 is not used: with device = auto several ranks learn on their "
            "processors; device = cuda has each learn on a GPU of its own"
        )


def _fail(watch: Watch, place: Place, error: BaseException) -> None:
    """Say why this rank fails, and keep the store until the others have read it."""
    if not isinstance(error, RankLostError):
        text = str(error).partition("\n")[0] or type(error).__name__
        with contextlib.suppress(RuntimeError):
            watch.say(text[:300])
    if place.hosts_store:
        watch.wait_until_read()
