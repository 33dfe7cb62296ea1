"""docs/api.md: what `operant` exports, with signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from typing import Any

HEAD = """\
# Python API

<!-- written by `make reference` from the code -->

The names of `operant` and of its public modules. Everything else is private and may change in any
version. [From Python](python.md) and
[Your own training loop](your-own-loop.md) are the guides.
"""
NOT_CALLED = {"Policy", "Callback", "Evaluation", "LiveRun"}  # operant makes these
PARTS = {
    "Train, load, evaluate": (
        "train", "load", "evaluate", "runs", "show", "push", "pull", "Run", "Policy", "Evaluation",
    ),
    "Callbacks": ("Callback", "LiveRun"),
    "Checks": ("testing.check_algorithm",),
    "Errors": ("OperantError", "UsageError", "RunNotFoundError"),
    "Loops of your own": (
        "init", "log", "finish", "Table", "Image", "Histogram", "Video",
        "integrations.SB3Callback", "integrations.LightningLogger", "integrations.SummaryWriter",
    ),
}  # fmt: skip
MODULES = {
    "errors": "has all errors",
    "wandb": "has wandb's names, for scripts that log with them",
    "envs": "has operant's environments for other libraries, and what batched ones declare",
    "algorithms": "has the algorithms to derive your own from, with their settings",
}


def page() -> str:
    parts = [HEAD]
    for title, names in PARTS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, _named(name)) for name in names]
    # Its library is no dependency of the tests.
    parts.append("`operant.integrations.TrainerCallback` is the one of Hugging Face's Trainer.\n")
    parts.append("## Modules\n")
    for module, about in MODULES.items():
        names = ", ".join(f"`{x}`" for x in importlib.import_module(f"operant.{module}").__all__)
        parts.append(f"`operant.{module}` {about}: {names}.\n")
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
