"""The pages that show a run of several ranks, on every machine where some of them are.

Rank 0 has the run's folder, and the page there is of the whole run. Ranks beside it have theirs in
the same folder; for those on other machines rank 0's process has one, as far as they tell it. On
every other machine the lowest rank keeps a folder of the same id, a part of the run (`run_part`):
with pages of the ranks that are there, and one for rank 0, as far as that tells.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, zeros

from ...shared.errors import OperantError
from ...shared.lock import RunLock
from ...shared.ranks import RANK_METRICS
from ...shared.run_folder import Run, runs_folder
from ...shared.run_part import open_part
from ...shared.schema import Metric
from ...shared.session import RunSession, warn_on_stderr
from ..run.telemetry import PUBLISH_INTERVAL_S, Report, metrics_of
from .machines import Machines, place_of_pages, place_of_runs
from .told import Mirror, Told, Word
from .watch import INTERVAL_S, Watch

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .meeting import Introduction

LOOK_AGAIN_S = 0.05
# Of a rank's page: small, as there may be many on a machine.
MAX_METRICS, ROWS_BYTES = 16, 1 << 20
PHASES, PAUSE = ("collect", "learn", "pause", "publish"), "pause"
METRICS = (
    *RANK_METRICS,
    *(Metric(f"time/{name}_s", "s", "timer", level=1, description=f"{name}, of the iteration")
      for name in ("collect", "learn", "publish", "other")),
    Metric(f"time/{PAUSE}_s", "s", "timer", level=1,
           description="between iterations: rank 0 evaluates and saves"),
)  # fmt: skip


def introduce_pages(own: Introduction, session: RunSession | None) -> None:
    """Say where this rank's pages are; rank 0, which has the `session` of the run, of that too."""
    run = session.run if session else None
    own.pages, own.home = place_of_pages(), place_of_runs(run.folder.parent if run else None)
    if run:
        name = str(run.manifest().get("name", run.id))
        own.run = {"id": run.id, "name": name, "folder": str(run.folder)}


class Pages:
    """Those that this process writes: its own, and of ranks elsewhere."""

    def __init__(self, ranks: Sequence[Introduction], rank: int, first: RunSession | None) -> None:
        """`first` is that of rank 0 in its own process; a run that has none has no other pages."""
        self._ranks, self._rank, self._run = ranks, rank, ranks[0].run
        self._machines = Machines(ranks)
        self._is_spread = self._run is not None and self._machines.are_several
        self.told = Told()
        self._own: RunSession | None = None
        self._first = first
        self._mirrors: dict[int, Mirror] = {}
        self._heard: set[int] = set()  # who has told anything yet
        self._writing = threading.Lock()

    def open(self, config: TrainConfig, store: Any, watch: Watch) -> None:
        """Make the pages, and tell through `watch` from here on. What cannot be made is said and
        not shown. Raises RankLostError.
        """
        if self._run is None:
            return
        lead = self._machines.lead(self._rank)
        if self._first:
            self._open_mirrors(self._first)
        elif self._machines.is_first(self._rank):
            self._open_own(Run(runs_folder() / self._run["id"]))
        elif lead == self._rank:
            part = self._opened_part(config)
            store.set(f"part/{lead}", "there" if part else "")
            if part:
                self._open_own(part)
        elif lead is not None:
            while not store.check([f"part/{lead}"]):
                watch.check()
                time.sleep(LOOK_AGAIN_S)
            if store.get(f"part/{lead}"):
                self._open_own(Run(runs_folder() / self._run["id"]))
        if self._is_spread:
            watch.exchange = self.exchange

    def telling(self, report: Report) -> Report:
        """`report`, and other machines are told as well."""
        if not self._is_spread:
            return report

        def tell(row: Mapping[str, float], iteration: int, env_steps: int) -> None:
            self.told.publish(row, iteration, env_steps)
            report(row, iteration, env_steps)

        return tell

    def publish(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        """Of this rank, where it is not the first."""
        self.told.publish(values, iteration, env_steps)
        if self._own:
            self._own.metrics.publish(values, iteration, env_steps)

    def phase(self, *phase: Any) -> None:
        self.told.phase(*phase)
        if self._own:
            self._own.metrics.phase(*phase)

    def beat(self) -> None:
        """A sign of life while this rank waits."""
        self.told.beat()
        if session := self._first or self._own:
            session.metrics.beat()

    def exchange(self, store: Any) -> None:
        """Tell and hear what there is; what the store does not do now it does the next time."""
        with contextlib.suppress(RuntimeError):
            store.set(f"told/{self._rank}", self.told.word.encode())
            self._hear(store)

    def exchange_last(self, store: Any, watch: Watch, all_reduce: Callable[[Tensor], None]) -> None:
        """What all tell in the end is heard by all. Raises RankLostError."""
        if not self._is_spread:
            return
        for is_last in (False, True):
            # In a thread: who asks a store that is frozen waits for ever.
            asking = threading.Thread(target=self.exchange, args=(store,), daemon=True)
            asking.start()
            while asking.is_alive():
                watch.check()
                asking.join(LOOK_AGAIN_S)
            if not is_last:
                all_reduce(zeros(1))

    def close(self, is_complete: bool) -> None:
        """All ranks have ended in good order."""
        for session in self._taken_sessions():
            session.close(*(("finished", 0) if is_complete else ("stopped", 143)))

    def fail(self, error: BaseException) -> None:
        """The run ends with an `error`: a rank that is gone has no last word."""
        told = str(error).partition("\n")[0] or type(error).__name__
        for session in self._taken_sessions():
            if told.startswith(f"{self._ranks[session.rank].named} is gone"):
                session.lose()
            else:
                session.close("failed", getattr(error, "exit_code", 1), told)

    def _taken_sessions(self) -> Iterator[RunSession]:
        """Those opened here, once, while nothing more is written to them."""
        with self._writing:
            mirrors, self._mirrors = self._mirrors, {}
            own, self._own = self._own, None
            yield from (mirror.session for mirror in mirrors.values())
            if own:
                yield own

    def _tell_of(self, first: RunSession) -> None:
        """Have the other machines know the phases of rank 0 as well."""
        shown = first.metrics.on_phase

        def tell(*phase: Any) -> None:
            self.told.phase(*phase)
            if shown:
                shown(*phase)

        first.metrics.on_phase = tell

    def _open_mirrors(self, first: RunSession) -> None:
        """Of the ranks on other machines, in rank 0's process."""
        if self._is_spread:
            self._tell_of(first)
        for rank, one in enumerate(self._ranks):
            if not (rank == 0 or self._machines.is_first(rank)):
                with _told_if_not_shown(rank):
                    self._mirrors[rank] = Mirror(self._session(first.run, rank, one.host))

    def _opened_part(self, config: TrainConfig) -> Run | None:
        """The run's part on this machine, with the page for rank 0; None where there can be none,
        as on a disk that machines share.
        """
        assert self._run
        told, host = self._run, self._ranks[0].host
        manifest = {"name": told["name"], "seed": config.seed,
                    "device": "cuda" if config.device == "cuda" else "cpu"}  # fmt: skip
        manifest["config"] = config.model_dump(mode="json")
        with contextlib.suppress(OperantError, OSError):
            run, lock = open_part(told["id"], host, told["folder"], manifest)
            try:
                session = RunSession(
                    run, lock, (*metrics_of(config), *RANK_METRICS), publish_interval_s=INTERVAL_S,
                    world_size=len(self._ranks), host=host, is_whole=True, recorder=None,
                )  # fmt: skip
            except BaseException:
                lock.release()
                raise
            session.metrics.event(
                "info",
                f"a part of the run on {host}, in {told['folder']}: its checkpoints, evaluations "
                "and every row are there",
            )
            self._mirrors[0] = Mirror(session)
            return run
        return None

    def _open_own(self, run: Run) -> None:
        with _told_if_not_shown(self._rank):
            self._own = self._session(run, self._rank)

    def _session(self, run: Run, rank: int, host: str = "") -> RunSession:
        lock = RunLock(run.lock_path, rank)
        try:
            return RunSession(
                run, lock, METRICS, publish_interval_s=INTERVAL_S if host else PUBLISH_INTERVAL_S,
                max_metrics=MAX_METRICS, rows_bytes=ROWS_BYTES, rank=rank,
                world_size=len(self._ranks), host=host, recorder=None,
            )  # fmt: skip
        except BaseException:
            lock.release()
            raise

    def _hear(self, store: Any) -> None:
        # To ask for what was never told would wait for it.
        self._heard |= {
            rank for rank in self._mirrors.keys() - self._heard if store.check([f"told/{rank}"])
        }
        heard = sorted(self._heard & self._mirrors.keys())
        lines = store.multi_get([f"told/{rank}" for rank in heard]) if heard else []
        with self._writing:
            for rank, line in zip(heard, lines, strict=True):
                with contextlib.suppress(KeyError, ValueError):  # one that is closed; no word
                    self._mirrors[rank].show(Word.decode(line))


@contextlib.contextmanager
def _told_if_not_shown(rank: int) -> Iterator[None]:
    try:
        yield
    except (OperantError, OSError) as error:
        warn_on_stderr(f"rank {rank} is not shown: {error}")
