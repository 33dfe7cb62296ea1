"""docs/api.md: what `operant` exports, with signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from typing import Any

HEAD = """\
# Python API

<!-- written by `make reference` from the code -->

All that `import operant` exports. The modules that other documents import from are public too;
everything else is private and may change in any version. [From Python](python.md) and
[Your own training loop](your-own-loop.md) are the guides.
"""
NOT_CALLED = {"Run", "Policy", "Callback", "LiveRun"}  # operant makes these
PARTS = {
    "Train, load, evaluate": (
        "train", "load", "evaluate", "history", "runs", "show", "push", "pull", "Run", "Policy",
    ),
    "Callbacks": (
        "Callback", "LiveRun", "StopAtReturn", "StopWithoutImprovement", "SaveBest", "RecordVideo",
        "ProgressBar",
    ),
    "Checks": ("testing.check_algorithm",),
    "Errors": (
        "OperantError", "UsageError", "ConfigError", "CheckpointError", "RunNotFoundError",
        "PageError",
    ),
    "Loops of your own": (
        "OperantCallback", "OperantLogger", "SummaryWriter", "MetricsWriter", "MetricsReader",
    ),
}  # fmt: skip
NEEDS_TRANSFORMERS = "OperantTrainerCallback"  # which the tests do without
AS_WANDB = "These have the names and arguments of those in wandb"


def page() -> str:
    operant = importlib.import_module("operant")
    parts = [HEAD]
    listed = {NEEDS_TRANSFORMERS}
    for title, names in PARTS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts.append(_entry(name, _named(name)))
            listed.add(name)
    parts.append(f"`operant.{NEEDS_TRANSFORMERS}` is the callback for Hugging Face's Trainer.\n")
    others = ", ".join(f"`{name}`" for name in operant.__all__ if name not in listed)
    parts.append(f"## In wandb's shape\n\n{AS_WANDB}: {others}.\n")
    parts.append(
        "`operant.algorithms` has the algorithms to derive your own from, with their settings: "
        + ", ".join(f"`{name}`" for name in importlib.import_module("operant.algorithms").__all__)
        + ".\n"
    )
    return "\n".join(parts)


def _named(name: str) -> Any:
    module, _, last = f"operant.{name}".rpartition(".")
    return getattr(importlib.import_module(module), last)


def _entry(name: str, found: Any) -> str:
    signature = _signature(name.rpartition(".")[2], found)
    lines = [f"### `operant.{name}`\n", _text(found), ""]
    if "(" in signature:
        lines.insert(1, f"```\n{signature}\n```\n")
    if inspect.isclass(found):
        for member, value in sorted(vars(found).items()):
            function = value.fget if isinstance(value, property) else value
            if member.startswith("_") or not inspect.isfunction(function) or not _text(function):
                continue
            shown = member if isinstance(value, property) else _signature(member, function)
            lines.append(f"- **`{_one_line(shown)}`**: {_one_line(_text(function))}")
        lines.append("")
    return "\n".join(lines)


def _signature(name: str, found: Any) -> str:
    """`name(parameter: type = default) -> type`, long ones with a line for each parameter."""
    if inspect.isclass(found) and ("__init__" not in vars(found) or name in NOT_CALLED):
        return name
    signature = inspect.signature(found)
    shown: list[str] = []
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not any(word.startswith("*") for word in shown):
            shown.append("*")
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        kind = "" if each.annotation is each.empty else f": {_type(each.annotation)}"
        default = "" if each.default is each.empty else f" = {each.default!r}"
        shown.append(f"{stars}{each.name}{kind}{default}")
    returned = signature.return_annotation
    end = "" if returned in (signature.empty, "None", None) else f" -> {_type(returned)}"
    short = f"{name}({', '.join(shown)}){end}"
    return short if len(short) <= 100 else f"{name}(\n    " + ",\n    ".join(shown) + f",\n){end}"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _text(found: Any) -> str:
    """A docstring, its paragraphs wrapped as documents are."""
    own = inspect.cleandoc(found.__doc__ or "")
    return "\n\n".join(textwrap.fill(x, 128, break_on_hyphens=False) for x in own.split("\n\n"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
