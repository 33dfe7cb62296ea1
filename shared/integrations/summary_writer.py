"""A run in the shape of TensorBoard's SummaryWriter."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..text.plain_values import text_of
from .accepted import Accepted, stand_in, unknown_keywords
from .begin import RunOptions, begin_run, script_name
from .current_run import open_run
from .logged_run import LoggedRun
from .media import Histogram, Image, Text, Video
from .never_raising import never_raising
from .process_end import ending_of
from .tensorboard_events import EventRecorder


@never_raising
class SummaryWriter:
    """Publishes scalars, histograms as quantiles and texts as events, and writes images and videos
    as files. Logs into the run that `operant.init` began, else into a new one, named after the last
    part of `log_dir`, which `close` ends. No method raises.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        **keywords: Any,
    ) -> None:
        """`log_dir` is created, because some scripts put files there, and removed at the end if it
        is empty: operant writes nothing there. `purge_step` has no effect, and gives a warning. The
        last three arguments are about TensorBoard's files and have no effect.
        """
        log_dir = log_dir or keywords.pop("logdir", None)  # the name in older tensorboardX
        keywords.pop("write_to_disk", None)
        unknown_keywords("SummaryWriter", keywords)
        current = open_run()
        self._owns_run = current is None
        name = Path(log_dir).name if log_dir else f"{script_name()}{comment}"
        self.run: LoggedRun = current or begin_run(RunOptions(name or script_name()))
        self.log_dir = os.fspath(log_dir) if log_dir else self.run.dir
        self._pid = os.getpid()
        self.purge_step, self.comment = purge_step, comment
        if purge_step:
            why = "a run that goes on keeps its rows" if self.run.resumed else "the run is new"
            self.run.warn_once("purge_step", f"purge_step = {purge_step} has no effect: {why}")
        self.file_writer = self.event_writer = self
        self.all_writers = {self.log_dir: self}
        self._recorder = EventRecorder(self.run)
        self._made_folders = _made_folders(self.log_dir)
        atexit.register(self._remove_empty_folders)

    def _get_file_writer(self) -> SummaryWriter:
        return self

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Log an event of TensorBoard's classes."""
        self.add_summary(event.summary, event.step if step is None else step)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Log a summary of TensorBoard's classes."""
        event = SimpleNamespace(summary=summary, step=global_step or 0)
        self._recorder.record(self.log_dir, event)

    @property
    def logdir(self) -> str:
        return self.log_dir

    def get_logdir(self) -> str:
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one value. All scalars of one `global_step` are one row. `walltime` has no effect."""
        self.run.log({text_of(tag): scalar_value}, global_step)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log several values, as `main_tag/name`."""
        self.run.log({text_of(main_tag): tag_scalar_dict}, global_step)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add an event if the text of `tag` has changed; a text of several lines becomes a file."""
        self._keep(tag, Text(text_string), global_step)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, *_: Any, **__: Any
    ) -> None:
        """Log five quantiles, `tag/p05` to `tag/p95`."""
        self._keep(tag, Histogram(values), global_step)

    def add_histogram_raw(
        self, tag: str, min: float, max: float, num: Any, sum: Any, sum_squares: Any,
        bucket_limits: Any, bucket_counts: Any, global_step: int | None = None, *_: Any, **__: Any,
    ) -> None:  # fmt: skip
        """Log the quantiles of counts; a bucket begins at the limit of the one before."""
        edges = [min, *bucket_limits]
        self._keep(tag, Histogram(np_histogram=(bucket_counts, edges)), global_step)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None,
        dataformats: str = "CHW", **_: Any,
    ) -> None:  # fmt: skip
        self._keep(tag, Image(img_tensor, channels_first="HWC" not in dataformats), global_step)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: Any = None,
        dataformats: str = "NCHW", **_: Any,
    ) -> None:  # fmt: skip
        """Log a batch of images as a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any = None, global_step: int | None = None,
        walltime: Any = None, rescale: Any = 1, dataformats: str = "CHW", **_: Any,
    ) -> None:  # fmt: skip
        """Log the image, without its boxes."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, *_: Any,
        **__: Any,
    ) -> None:  # fmt: skip
        """Log one or several figures of matplotlib, and close them."""
        figures = list(figure) if isinstance(figure, list | tuple) else [figure]
        for one in figures:
            self._keep(tag, Image(one), global_step)
            pyplot = sys.modules.get("matplotlib.pyplot")
            if close and pyplot is not None:
                with contextlib.suppress(Exception):
                    pyplot.close(one)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4, *_: Any,
        **__: Any,
    ) -> None:  # fmt: skip
        self._keep(tag, Video(vid_tensor, fps=fps), global_step)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, *_: Any, **__: Any
    ) -> None:
        """Log a number, or the quantiles of several."""
        self._keep(tag, tensor, global_step)

    def _keep(self, tag: str, value: Any, step: int | None) -> None:
        self.run.log({text_of(tag): value}, step, commit=False)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add `hparam_dict` to the run's configuration and publish `metric_dict`."""
        self.run.config.update(hparam_dict)
        self.run.log({} if metric_dict is None else metric_dict, global_step)

    def flush(self) -> None:
        self.run.flush()

    def close(self) -> None:
        """Publish the pending row, and end the run if the writer began it."""
        self.run.flush()
        if self._owns_run:
            self.run.finish()
        self._remove_empty_folders()

    def __getattr__(self, name: str) -> Accepted:
        """Accept other methods, see `stand_in`."""
        return stand_in("SummaryWriter", name, dir(type(self)))

    def _warn_once(self, key: str, text: str) -> None:
        self.run.warn_once(key, text)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._owns_run:
            self.run.end(ending_of(error))
        self.close()

    def _remove_empty_folders(self) -> None:
        """Remove the folders that were created for `log_dir`, if they are empty."""
        atexit.unregister(self._remove_empty_folders)
        if os.getpid() == self._pid:
            for folder in self._made_folders:
                with contextlib.suppress(OSError):  # not empty, or gone
                    os.rmdir(folder)


def _made_folders(folder: str) -> list[str]:
    """Create `folder`. Returns the folders that were created, the innermost first."""
    made, place = [], os.path.abspath(folder)
    while not os.path.lexists(place):
        made.append(place)
        place = os.path.dirname(place)
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
    return made
