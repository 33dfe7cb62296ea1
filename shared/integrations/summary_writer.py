"""A page in the shape of TensorBoard's SummaryWriter."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .begin import Wanted, begin_run, script_name
from .process_end import ending_of
from .tracked_run import TrackedRun
from .wandb_shape import open_run


def _not_kept(name: str) -> Callable[..., None]:
    def method(self: SummaryWriter, *arguments: Any, **keywords: Any) -> None:
        self.run.warn_once(name, f"{name}() is accepted, and what it gets is not kept")

    method.__doc__ = "Accepted for TensorBoard's sake, and not kept."
    return method


class SummaryWriter:
    """Publishes scalars, and texts as events. It logs into the run that `operant.init` began, else
    into one of its own, called after the last part of `log_dir`, which `close` ends.
    """

    add_audio = _not_kept("add_audio")
    add_custom_scalars = _not_kept("add_custom_scalars")
    add_custom_scalars_marginchart = _not_kept("add_custom_scalars_marginchart")
    add_custom_scalars_multilinechart = _not_kept("add_custom_scalars_multilinechart")
    add_embedding = _not_kept("add_embedding")
    add_figure = _not_kept("add_figure")
    add_graph = _not_kept("add_graph")
    add_histogram = _not_kept("add_histogram")
    add_histogram_raw = _not_kept("add_histogram_raw")
    add_image = _not_kept("add_image")
    add_image_with_boxes = _not_kept("add_image_with_boxes")
    add_images = _not_kept("add_images")
    add_mesh = _not_kept("add_mesh")
    add_onnx_graph = _not_kept("add_onnx_graph")
    add_pr_curve = _not_kept("add_pr_curve")
    add_pr_curve_raw = _not_kept("add_pr_curve_raw")
    add_tensor = _not_kept("add_tensor")
    add_video = _not_kept("add_video")

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        """`log_dir` is made, as some scripts put files there; nothing of operant's lies in it. The
        last four are about TensorBoard's files and have no meaning here.
        """
        current = open_run()
        self._owns_run = current is None
        name = Path(log_dir).name if log_dir else f"{script_name()}{comment}"
        self.run: TrackedRun = current or begin_run(TrackedRun, Wanted(name or script_name()))
        self.log_dir = os.fspath(log_dir) if log_dir else self.run.dir
        with contextlib.suppress(OSError):
            os.makedirs(self.log_dir, exist_ok=True)

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
        """One value; all scalars of one `global_step` go together. Times are the page's own."""
        self.run.log({tag: scalar_value}, global_step)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several values, each as `main_tag/name`."""
        self.run.log({main_tag: tag_scalar_dict}, global_step)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """An event, when it differs from the text that `tag` had before."""
        self.run.log({tag: str(text_string)}, global_step, commit=False)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """`hparam_dict` goes into the run's configuration, `metric_dict` is published."""
        self.run.config.update(hparam_dict)
        self.run.log(metric_dict, global_step)

    def flush(self) -> None:
        self.run.flush()

    def close(self) -> None:
        """Publish the rest, and end the run if it is the writer's own."""
        self.run.flush()
        if self._owns_run:
            self.run.finish()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._owns_run:
            self.run.end(ending_of(error))
        self.run.flush()
