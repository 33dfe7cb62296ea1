"""Any object at all may be logged, configured and ended with: nothing raises into the loop."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import functools
import itertools
import threading
from collections import defaultdict, namedtuple
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import operant
from operant import wandb
from operant.shared.runs.status import read_status


def raising(*_: object, **__: object) -> Any:
    raise RuntimeError("no")


# Raises for whatever Python asks of it.
ASKED = (
    "__str__", "__repr__", "__float__", "__int__", "__index__", "__bool__", "__iter__", "__len__",
    "__eq__", "__lt__", "__format__", "__getitem__", "__contains__", "__array__",
)  # fmt: skip
Hostile = type("Hostile", (), {**dict.fromkeys(ASKED, raising), "__hash__": lambda self: 1})
Liar = type("Liar", (), {"__class__": property(raising), "item": property(raising)})
HostileText = type("HostileText", (str,), {**dict.fromkeys(("__str__", "__repr__"), raising)})
HostileInt = type(
    "HostileInt", (int,), dict.fromkeys(("__str__", "__repr__", "__float__"), raising)
)
HostileFloat = type("HostileFloat", (float,), dict.fromkeys(("__str__", "__repr__"), raising))
HostileError = type("HostileError", (Exception,), dict.fromkeys(("__str__", "__repr__"), raising))


class HostileDict(Mapping[Any, Any]):
    __getitem__ = raising

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise HostileError

    def __len__(self) -> int:
        return 2


@dataclasses.dataclass
class Uncopyable:
    lock: Any
    learning_rate: float = 0.1


class Color(enum.IntEnum):
    RED = 1


def recursive_dict() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1.0}
    value["self"] = value
    return value


def recursive_list() -> list[Any]:
    value: list[Any] = [1]
    value.append(value)
    return value


def bottomless(depth: int = 3000) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def billions(doublings: int = 40) -> list[Any]:
    """2^40 entries to whoever unfolds it."""
    value: list[Any] = [1.0]
    for _ in range(doublings):
        value = [value, value]
    return value


NASTY = [
    Hostile(), Liar(), HostileText("text"), HostileInt(3), HostileFloat(0.5), HostileDict(),
    HostileError("x"), Hostile, recursive_dict(), recursive_list(), bottomless(), billions(),
    2**63, -(2**63) - 1, 2**64, 10**400, 10**5000, -1, True, None, "", "\udcff", "a\0b",
    "x" * 10**6, b"bytes", bytearray(b"b"), memoryview(b"m"), 1j, float("nan"), float("-inf"), -0.0,
    Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3), datetime.now(), Path("/nowhere/at/all"),
    Color.RED, Color, (n for n in [1]), itertools.count(), range(10**12), object(), len, lambda: 0,
    functools.partial(int), threading.Lock(), Uncopyable(threading.Lock()), ValueError("v"),
    KeyboardInterrupt(), slice(1), NotImplemented, Ellipsis, {1, 2}, frozenset(), [None], {None: 1},
    {(1, 2): 3, Hostile(): 4}, {"a": {"b": Hostile()}}, {"a": [{"b": None}]}, {"a": object},
    defaultdict(list), namedtuple("Point", "x y")(1, None), argparse.Namespace(a=1, b=Hostile()),
    np.array("text"), np.array([object()]), np.datetime64("NaT"), np.timedelta64(1), np.ma.masked,
    np.longdouble("1e4000"), np.void(b"v"), np.array([(1, 2.0)], dtype="i4,f8"), np.zeros(0),
    np.bool_(True), np.uint64(2**64 - 1), np.float16("inf"), np.complex64(1),
    torch.tensor(1.0), torch.ones(3, requires_grad=True), torch.tensor(1.0, requires_grad=True),
    torch.tensor(1, dtype=torch.int8), torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(1j),
    torch.empty(0), torch.eye(2).to_sparse(), torch.device("cpu"), torch.float32,
    torch.empty((), device="meta"), torch.nn.Linear(1, 1),
]  # fmt: skip


def call_everything(value: Any, other: Any) -> None:
    """Every public call of a loop, with `value` in every place."""
    run = wandb.run
    assert run
    operant.log(value)
    operant.log({"a": value}, step=other)
    operant.log({"deep": {"er": value}}, step=value, commit=True)
    operant.log({"b": 1.0}, value, value)
    run.log(value, step=value)
    run.event(value, value)
    run.warn_once("key", "said once")
    run.flush()
    run.name = value
    run.config.update(value)
    run.config.update({"c": value})
    run.config.setdefaults(value)
    run.config["key"] = value
    run.config[value] = other
    run.config.attribute = value
    run.summary["best"] = value
    run.summary.update({"s": value, "t": {"u": [value, other]}})
    wandb.config.update({"again": value})
    wandb.alert(value, value, value)
    wandb.define_metric(value, step_metric=value)
    wandb.watch(value)
    wandb.save(value)
    operant.log({"table": operant.Table(columns=["a", value], data=[[value, other]])})
    operant.log({"artifact": wandb.Artifact(value, value)})
    wandb.log_artifact(value, other)
    wandb.Artifact("a", "model").add_reference(value, value)
    run.tags += (value,)
    writer = operant.integrations.SummaryWriter()
    writer.add_scalar(value, value, value)
    writer.add_scalars(value, value, other)
    writer.add_scalars("main", {"tag": value}, other)
    writer.add_text(value, value, value)
    writer.add_hparams(value, value)
    writer.add_histogram(value, value)
    writer.flush()
    writer.close()
    repr(run.id), run.step, run.dir, run.is_open


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(NASTY)))
def test_no_nasty_object_raises_into_the_loop(index, seen, capsys):
    value = NASTY[index]
    run = operant.init(config={"value": value, "values": [value, {"in": [value]}]})
    operant.log({"good": 0.0})  # before others take all the room
    call_everything(value, 3)
    call_everything(3, value)
    operant.log({"good": 1.5}, commit=True)
    assert read_status(seen.run).metrics["good"] == 1.5
    manifest = seen.run.manifest()
    assert manifest["id"] == run.id  # run.toml can be written and read whatever it holds
    run.finish(exit_code=value)
    assert seen.status.state in ("finished", "failed")
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == len(set(warnings)) <= 100


def test_a_loop_that_finds_ever_new_mistakes_is_warned_a_hundred_times(seen, capsys):
    run = operant.init()
    for number in range(300):
        run.log({f"name{number}": object()})
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 100
    assert warnings[-1].endswith("further warnings are not shown")


@pytest.mark.parametrize("commit", [NotImplemented, np.array([1, 0]), Hostile()])
def test_a_commit_that_is_neither_true_nor_false_takes_no_row(commit, seen, recwarn):
    run = operant.init()
    run.log({"loss": 1.0}, step=1, commit=commit)
    operant.integrations.SummaryWriter().add_hparams({"a": 1}, commit)
    run.finish()
    assert seen.series("loss") == [1.0]
    assert [w for w in recwarn if "boolean context" in str(w.message)] == []


def test_control_flow_is_no_mistake():
    run = operant.init()
    interrupts = type(
        "Interrupts", (), {"__float__": lambda self: (_ for _ in ()).throw(KeyboardInterrupt)}
    )
    with pytest.raises(KeyboardInterrupt):
        run.log({"a": interrupts()})


def test_a_run_begun_outside_a_repository_goes_on_twice(tmp_path, monkeypatch, seen):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for _ in range(3):
        with operant.init(
            id="job-1", resume="allow", config={"layers": [{"dropout": None}]}
        ) as run:
            run.log({"loss": 1.0})
    assert "git_commit" not in seen.run.manifest()
    assert len(seen.run.manifest()["resumed"]) == 2
    assert seen.run.manifest()["config"] == {"layers": [{}]}
