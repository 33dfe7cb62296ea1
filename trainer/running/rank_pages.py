"""The pages that show a run of several ranks, on every machine where some of them are.

Rank 0 has the run's folder, and the page there is of the whole run. Ranks beside it have theirs in
the same folder; for those on other machines rank 0's process has one, as far as they tell it. On
every other machine the lowest rank keeps a folder of the same id, a part of the run (`run_part`):
with pages of the ranks that are there, and one for rank 0, as far as that tells.

What a rank tells of itself for pages on other machines: its newest numbers, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor, zeros

from ...shared.errors import OperantError, PageError
from ...shared.page.page_file import make_page_folder, page_folder
from ...shared.page.schema import Metric
from ...shared.processes.host import boot_id
from ...shared.processes.lock import RunLock
from ...shared.runs.ranks import RANK_METRICS
from ...shared.runs.run_folder import Run, make_home, runs_folder
from ...shared.runs.run_part import open_part
from ...shared.runs.session import RunSession, warn_on_stderr
from ..config.metrics import metrics_of
from ..distributed.watch import INTERVAL_S, Watch
from .telemetry import PUBLISH_INTERVAL_S, Report

if TYPE_CHECKING:
    from ..config import TrainConfig
    from ..distributed.meeting import Introduction
    from ..distributed.process_group import ProcessGroup

Phase = tuple[str, int | None, int | None, str]


class Word(NamedTuple):
    """The newest of every number that was published so far, in `num_publishes`; `num_signs` counts
    signs of life.
    """

    num_publishes: int = 0
    num_signs: int = 0
    values: Mapping[str, float] = {}
    iteration: int = -1
    env_steps: int = -1
    phase: Phase | None = None

    def encode(self) -> str:
        return json.dumps(self)

    @classmethod
    def decode(cls, line: bytes) -> Word:
        """Raises ValueError where the line is none of these."""
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, list) or len(said) != len(cls._fields):
            raise ValueError("no word of a rank")
        *numbers, phase = said
        if not isinstance(phase, list | None):
            raise ValueError("no word of a rank")
        return cls(*numbers)._replace(phase=tuple(phase) if phase else None)


class Told:
    """Takes what its rank publishes. `word` is always whole: another thread reads it."""

    def __init__(self) -> None:
        self.word = Word()

    def publish(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        self.word = self.word._replace(
            num_publishes=self.word.num_publishes + 1,
            num_signs=self.word.num_signs + 1,
            values={**self.word.values, **values},
            iteration=iteration,
            env_steps=env_steps,
        )

    def phase(self, *phase: Any) -> None:
        """Name, and how far it is, as in `OnPhase`."""
        self.word = self.word._replace(phase=phase, num_signs=self.word.num_signs + 1)

    def beat(self) -> None:
        self.word = self.word._replace(num_signs=self.word.num_signs + 1)


class Mirror:
    """The page of a rank that is elsewhere, which shows what that tells."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self._shown = Word()

    def show(self, word: Word) -> None:
        """What changed since the last word: a row, a phase, a sign of life."""
        before, self._shown = self._shown, word
        metrics = self.session.metrics
        if word.phase and word.phase != before.phase:
            metrics.phase(*word.phase)
        if word.num_publishes != before.num_publishes:
            # What stayed the same was most likely not published again, as an evaluation's return.
            changed = {n: v for n, v in word.values.items() if before.values.get(n) != v}
            metrics.publish(changed, word.iteration, word.env_steps)
        elif word.num_signs != before.num_signs:
            metrics.beat()


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


def place_of_pages() -> str:
    """Equal in all processes that have their pages in the same folder of the same machine."""
    try:
        make_page_folder(page_folder())
    except PageError:  # pages are in the processes then
        return f"{boot_id().hex()} {page_folder()}"
    return f"{boot_id().hex()} {_identity(page_folder())}"


def place_of_runs(folder: Path | None = None) -> str:
    """Equal in all processes whose runs have their folders in the same one, by default this user's;
    empty where there is none.
    """
    try:
        if folder is None:
            make_home(runs_folder())
        return _identity(folder or runs_folder())
    except OSError:
        return ""


def _identity(folder: Path) -> str:
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


class Machines:
    """Where the `ranks` of a run are, as they say it."""

    def __init__(self, ranks: Sequence[Introduction]) -> None:
        self._places = [(one.pages, one.home) for one in ranks]

    @property
    def are_several(self) -> bool:
        return not all(map(self.is_first, range(len(self._places))))

    def is_first(self, rank: int) -> bool:
        """Whether it is where rank 0 is, and the run's folder too."""
        return bool(self._places[rank][1]) and self._places[rank] == self._places[0]

    def lead(self, rank: int) -> int | None:
        """Who keeps the part of the run on the machine of `rank`. None where there is none: pages
        of a part are called as the run's own, and cannot lie beside them.
        """
        pages, home = self._places[rank]
        if not home or pages == self._places[0][0]:
            return None
        return self._places.index((pages, home))


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
        self._heard: set[int] = set()  # ranks that have reported anything yet
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
        message = str(error).partition("\n")[0] or type(error).__name__
        for session in self._taken_sessions():
            if message.startswith(f"{self._ranks[session.rank].named} is gone"):
                session.lose()
            else:
                session.close("failed", getattr(error, "exit_code", 1), message)

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
        first, host = self._run, self._ranks[0].host
        manifest = {"name": first["name"], "seed": config.seed,
                    "device": "cuda" if config.device == "cuda" else "cpu"}  # fmt: skip
        manifest["config"] = config.model_dump(mode="json")
        with contextlib.suppress(OperantError, OSError):
            run, lock = open_part(first["id"], host, first["folder"], manifest)
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
                f"a part of the run on {host}, in {first['folder']}: its checkpoints, evaluations "
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
        # Getting a key that was never set would wait for it.
        self._heard |= {
            rank for rank in self._mirrors.keys() - self._heard if store.check([f"told/{rank}"])
        }
        heard = sorted(self._heard & self._mirrors.keys())
        lines = store.multi_get([f"told/{rank}" for rank in heard]) if heard else []
        with self._writing:
            for rank, line in zip(heard, lines, strict=True):
                with contextlib.suppress(KeyError, ValueError):  # one that is closed; no word
                    self._mirrors[rank].show(Word.decode(line))


class Joined:
    """What a process has once it has met the other ranks: the group, the configuration of all, and
    the `pages` that show them; None for a single process. `is_complete` is set after training.
    """

    def __init__(
        self, config: TrainConfig, ranks: ProcessGroup, pages: Pages | None = None
    ) -> None:
        self.config, self.ranks, self.pages = config, ranks, pages
        self.is_complete = False

    def telling(self, report: Report) -> Report:
        """`report`, which also informs the other machines."""
        return self.pages.telling(report) if self.pages else report


@contextlib.contextmanager
def _told_if_not_shown(rank: int) -> Iterator[None]:
    try:
        yield
    except (OperantError, OSError) as error:
        warn_on_stderr(f"rank {rank} is not shown: {error}")
