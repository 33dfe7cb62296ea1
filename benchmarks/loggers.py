"""The same sixteen numbers, given to operant and to what others log with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Values = Mapping[str, float]
Log = Callable[[Values, int], None]


@contextmanager
def nothing(folder: Path) -> Iterator[Log]:
    yield lambda values, step: None


@contextmanager
def operant(folder: Path) -> Iterator[Log]:
    """A page where pages lie, on memory."""
    from operant.shared import MetricsWriter
    from operant.shared.page.page_file import page_folder

    path = page_folder() / f"benchmark-{os.getpid()}.page"
    writer = MetricsWriter.create(path, "benchmark", [], publish_interval_s=1.0)
    yield lambda values, step: writer.publish(values, step, step)
    writer.remove()


@contextmanager
def tensorboard(folder: Path) -> Iterator[Log]:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)

    def log(values: Values, step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    yield log
    writer.close()


@contextmanager
def prometheus(folder: Path) -> Iterator[Log]:
    """Its mode for several processes: values in files that are mapped into memory."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    from prometheus_client import Gauge

    class Gauges(dict[str, Gauge]):
        def __missing__(self, name: str) -> Gauge:
            self[name] = Gauge(name.replace("/", "_"), name)
            return self[name]

    gauges = Gauges()

    def log(values: Values, step: int) -> None:
        for name, value in values.items():
            gauges[name].set(value)

    yield log


@contextmanager
def wandb(folder: Path) -> Iterator[Log]:
    """Offline: nothing leaves the machine."""
    import wandb as package

    settings = package.Settings(silent=True, console="off", x_disable_stats=True)
    run = package.init(project="benchmark", mode="offline", dir=str(folder), settings=settings)
    yield lambda values, step: run.log(dict(values), step=step)
    run.finish()


LOGGERS = {
    "nothing": nothing,
    "operant": operant,
    "prometheus": prometheus,
    "tensorboard": tensorboard,
    "wandb": wandb,
}


@contextmanager
def logger(name: str) -> Iterator[Log]:
    """The logger of that name, its files in a folder that goes when the block ends."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LOGGERS[name](Path(folder)) as log,
    ):
        yield log
