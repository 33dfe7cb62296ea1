"""A process becomes one of several ranks, and leaves them in good order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch

from ...shared.errors import ConfigError
from ...shared.session import RunSession
from ..config import TrainConfig
from ..run.device import chosen_device, num_gpus
from .balance import Balance
from .group import Group, backend_of
from .interface import address_towards, own_address
from .joined import Joined
from .meeting import Introduction, check_alike, introduced, store_of, wait_until_read
from .pages import Pages, introduce_pages
from .place import Place
from .refusals import check_ranks
from .several import Several
from .split import AUTO, shares_in_words, shares_of, together_in
from .stragglers import Stragglers
from .versions import versions
from .watch import ENDED, RankLostError, Watch

TOLD_WITHIN_S = 3.0


@contextlib.contextmanager
def joined(
    place: Place,
    config: TrainConfig | None,
    split: str = "",
    should_stop: Callable[[], bool] = lambda: False,
    session: RunSession | None = None,
) -> Iterator[Joined]:
    """Meet the other ranks; without a `config` take that of rank 0. An error inside becomes known
    to all. Rank 0 has the `session` of the run. Raises OperantErrors that name ranks.
    """
    if config is not None:
        check_ranks(config, split, place.world_size)
    own = Introduction.of(
        address_towards(place.master_addr, place.master_port), versions(),
        None if config is None else config.model_dump(mode="json"), split, own_gpu(place),
    )  # fmt: skip
    introduce_pages(own, session)
    store = store_of(place, should_stop)
    ranks = introduced(store, place, own, should_stop, session.metrics if session else None)
    try:
        check_alike(ranks)
        config = config or _config_of(ranks[0])
        device = device_of(config, place, ranks)
    except ConfigError:
        wait_until_read(store, place, TOLD_WITHIN_S)
        raise
    stragglers, pages = None, Pages(ranks, place.rank, session)
    names = [one.named for one in ranks]
    watch = Watch(store.clone(), place.rank, names, config.ranks.silent_for_s)
    try:
        pages.open(config, store, watch)
        address = own_address(own.address, [one.address for one in ranks], place.master_port)
        backend = backend_of(device.type)
        group = Group(store, place.rank, place.world_size, backend, address, watch)
        hosts = [one.host for one in ranks]
        parts = shares_of(config, split, place.world_size)
        told = f"{backend} on {group.interface or 'its own choice of interface'} ({address})"
        notices = (
            f"{place.world_size} ranks learn together over {told}",
            shares_in_words(parts, hosts),
            *_unused_gpu(config),
        )
        if config.ranks.cut_stragglers:
            stragglers = Stragglers(store.clone(), place.world_size)
        group.beat = pages.beat
        several = Several(
            place.rank, parts, group.all_reduce, place.local_world_size, notices,
            Balance(parts, together_in(config)) if split == AUTO else None, stragglers, hosts,
            device,
        )  # fmt: skip
        yield (joined := Joined(config, several, pages))
        pages.exchange_last(store, watch, group.all_reduce)
        watch.say(ENDED)
        group.close()
        pages.close(joined.is_complete)
    except BaseException as error:
        _fail(watch, place, error)
        pages.fail(error)
        raise
    finally:
        if stragglers:
            stragglers.close()
        watch.close()


def _config_of(first: Introduction) -> TrainConfig:
    from ..config.files import make_config

    config: TrainConfig = make_config(dict(first.config or {}))
    return config


def own_gpu(place: Place) -> str:
    """`cuda` where this rank has the GPU of its number on this machine, else `cpu`."""
    return "cuda" if place.local_rank < num_gpus() else "cpu"


def device_of(config: TrainConfig, place: Place, ranks: Sequence[Introduction]) -> torch.device:
    """What this rank learns on: its own GPU where `device = cuda` asks for that, else the
    processor. Raises ConfigError where a rank, which the line names, has none.
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
    if config.device == "auto" and chosen_device("auto").type == "cuda":
        yield (
            "the GPU of rank 0 is not used: with device = auto several ranks learn on their "
            "processors; device = cuda has each learn on a GPU of its own"
        )


def _fail(watch: Watch, place: Place, error: BaseException) -> None:
    """Tell the others, while there still is the store that they read it in."""
    if not isinstance(error, RankLostError):
        text = str(error).partition("\n")[0] or type(error).__name__
        with contextlib.suppress(RuntimeError):
            watch.say(text[:300])
    if place.hosts_store:
        watch.wait_until_told()
