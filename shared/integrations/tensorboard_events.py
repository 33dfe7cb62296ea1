"""Records the events that a loop writes through `torch.utils.tensorboard` or tensorboardX:
`init(sync_tensorboard=True)`.

Both libraries write every event through a class `EventFileWriter`; its `add_event` is wrapped. The
loop's own files are written as before.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

from ..errors import UsageError
from ..install_command import install_command
from .accepted import say_once
from .capture_hook.sitecustomize import observe, when_imported
from .current_run import open_run
from .logged_run import LoggedRun
from .media import Histogram, Image, Text, Video

_WRITERS = ("tensorboard.summary.writer.event_file_writer", "tensorboardX.event_file_writer")
# Where the messages of hyperparameters are described, if a writer has described any.
_HPARAMS = ("tensorboard.plugins.hparams.plugin_data_pb2", "tensorboardX.proto.plugin_hparams_pb2")
# Summaries that are not recorded, by the name of TensorBoard's plugin.
_DROPPED = {
    "audio": "a sound",
    "custom_scalars": "a layout of charts",
    "mesh": "a mesh",
    "pr_curves": "a curve",
}

_recorders: dict[int, EventRecorder] = {}


def follow() -> None:
    """Record all events that are written from now on into the open run."""
    run = open_run()
    if run is None:
        return
    _recorders.clear()
    _recorders[id(run)] = EventRecorder(run)
    for name in _WRITERS:
        when_imported(name, _observe)


class EventRecorder:
    """Logs TensorBoard's events (protocol buffers) into one run."""

    def __init__(self, run: LoggedRun, root: str | None = None) -> None:
        """Values in the folder `root`, by default the first one, are named without a prefix."""
        self._run, self._root = run, root
        self._unprefixed: set[str] = set()

    def record(self, log_dir: str, event: Any) -> None:
        """Log the values of `event`, which was written to `log_dir`."""
        log_dir = os.path.normpath(log_dir)
        if self._root is None:
            self._root = log_dir
        values = {
            name: value
            for summary in event.summary.value
            for name, value in self._named(log_dir, summary)
        }
        if values:
            self._run.log(values, step=int(event.step))

    def _named(self, log_dir: str, summary: Any) -> Iterator[tuple[str, Any]]:
        plugin = summary.metadata.plugin_data.plugin_name
        if plugin == "hparams":
            self._unprefixed.add(log_dir)
            self._run.config.update(dict(_hyperparameters(summary)))
            return
        value = _value_of(summary, plugin)
        if value is not None:
            yield self._name(log_dir, summary.tag.removesuffix("/text_summary")), value

    def _name(self, log_dir: str, tag: str) -> str:
        """The tag, with the path from the root folder to `log_dir` in front."""
        root = self._root or ""
        if log_dir == root or log_dir in self._unprefixed:
            return tag
        if not log_dir.startswith(root + os.sep):
            return f"{os.path.basename(log_dir)}/{tag}"
        within = log_dir[len(root) + 1 :]
        # add_scalars writes every value to a folder of its own: torch to `tag_key`, tensorboardX to
        # `tag/key`.
        for part in (f"{tag.replace('/', '_')}_", f"{tag}/"):
            if within.startswith(part):
                return f"{tag}/{within.removeprefix(part)}"
        return f"{within.replace(os.sep, '/')}/{tag}"


def event_class() -> Any:
    """The class of event messages, of the installed library. Raises UsageError if there is none."""
    events = ("tensorboard.compat.proto.event_pb2", "tensorboardX.proto.event_pb2")
    for event, hyperparameters in zip(events, _HPARAMS, strict=True):
        with suppress(ImportError):
            importlib.import_module(hyperparameters)
            return importlib.import_module(event).Event
    raise UsageError(f"TensorBoard's events are read with `{install_command('tensorboard')}`")


def _value_of(summary: Any, plugin: str) -> Any:
    """The summary's value as a number, a text or media; None if it is not recorded."""
    kind = summary.WhichOneof("value")
    if kind == "simple_value":
        return summary.simple_value
    if kind == "histo":
        edges = [summary.histo.min, *summary.histo.bucket_limit]
        return Histogram(np_histogram=(list(summary.histo.bucket), edges))
    if kind == "image":
        return _picture(summary.image.encoded_image_string)
    if kind == "tensor" and plugin == "text":
        return Text(b"\n".join(summary.tensor.string_val).decode("utf-8", "replace"))
    if kind == "tensor" and plugin == "scalars":
        return _number(summary.tensor)
    what = _DROPPED.get(plugin or kind, f"'{summary.tag}', of TensorBoard's plugin '{plugin}',")
    say_once(f"event {plugin}", f"{what} is not recorded from TensorBoard's events")
    return None


def _picture(encoded: bytes) -> Image | Video:
    if not encoded.startswith(b"GIF8"):
        return Image(encoded)
    video = Video(encoded)
    video.ending = ".gif"
    return video


def _number(tensor: Any) -> float | None:
    import numpy as np

    for values in (tensor.float_val, tensor.double_val):
        if len(values) == 1:
            return float(values[0])
    sizes = {4: np.float32, 8: np.float64}
    size = sizes.get(len(tensor.tensor_content))
    return float(np.frombuffer(tensor.tensor_content, size)[0]) if size else None


def _hyperparameters(summary: Any) -> Iterator[tuple[str, Any]]:
    described = next((sys.modules[name] for name in _HPARAMS if name in sys.modules), None)
    if described is None:
        return
    data = described.HParamsPluginData.FromString(summary.metadata.plugin_data.content)
    for name, value in data.session_start_info.hparams.items():
        yield name, getattr(value, value.WhichOneof("kind"))


def _observe(module: ModuleType) -> None:
    if not hasattr(module.EventFileWriter.add_event, "__wrapped__"):
        observe(module, "EventFileWriter", "add_event", _record, partial(say_once, "events"))


def _record(writer: Any, event: Any, *_: Any, **__: Any) -> None:
    recorder = _recorders.get(id(open_run()))
    if recorder:
        recorder.record(str(writer.get_logdir()), event)
