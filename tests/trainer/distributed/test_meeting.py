"""Ranks that could not learn together refuse each other by name."""

from __future__ import annotations

import dataclasses

import pytest
from torch import distributed

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.distributed import meeting
from operant.trainer.distributed.connection import (
    address_towards,
    backend_of,
    interface_of,
    is_loopback,
    reachable_address,
)
from operant.trainer.distributed.meeting import Introduction, MeetingError, check_alike, introduced
from operant.trainer.distributed.place import place_of
from operant.trainer.machine import device
from operant.trainer.running.joining import device_of, own_gpu

RANK_1 = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}

FIRST = Introduction(
    "laptop", 10, "10.0.0.1", {"operant-rl": "0.1.0", "torch": "2.13"},
    {"seed": 1, "num_threads": 4, "ppo": {"gamma": 0.9}}, "2:1", "rank 0 (laptop, process 10)",
)  # fmt: skip
OTHER = dataclasses.replace(FIRST, host="mini", pid=11, named="rank 1 (mini, process 11)")


class Told:
    """A page writer that records phases and events."""

    def __init__(self):
        self.phases, self.events = [], []

    def phase(self, *told):
        self.phases.append(told)

    def event(self, _, text):
        self.events.append(text)


@pytest.fixture
def alone():
    """The store, the place and the introduction of a rank 0 that nobody meets."""
    place = dataclasses.replace(place_of(RANK_1), rank=0)
    return distributed.HashStore(), place, Introduction("laptop", 10, "10.0.0.1", {}, None, "")


def test_who_has_not_come_is_named_while_it_is_waited_for(monkeypatch, alone):
    monkeypatch.setattr(meeting, "SOON_S", 0.0)
    told = Told()
    asked = iter([False, False, False, True])  # to stop
    with pytest.raises(MeetingError, match="stopped while rank 1 had not come"):
        introduced(*alone, lambda: next(asked), told)
    assert told.phases == [("waiting", 1, 2, "ranks")] * 4
    assert told.events == ["rank 1 has not come within 0 s; it is waited for up to 300 s"]


def test_a_rank_that_is_there_already_is_refused(alone):
    store, place, introduction = alone
    with pytest.raises(MeetingError, match="stopped"):
        introduced(store, place, introduction, lambda: True)
    with pytest.raises(MeetingError, match="rank 0 is there already"):
        introduced(store, place, introduction, lambda: True)


def test_who_has_not_come_in_time_is_named(monkeypatch, alone):
    monkeypatch.setattr(meeting, "MEET_WITHIN_S", 0.0)
    with pytest.raises(MeetingError, match="rank 1 of 2 has not come within 0 s"):
        introduced(*alone, lambda: False)


def test_ranks_that_are_alike_may_differ_in_what_their_machines_are():
    threads = dataclasses.replace(OTHER, config={**FIRST.config, "num_threads": 8})
    nothing_said = dataclasses.replace(OTHER, config=None)
    check_alike([FIRST, OTHER, threads, nothing_said])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"versions": {"operant-rl": "0.2.0", "torch": "2.13"}},
            "rank 1 (mini, process 11) has operant-rl 0.2.0, and rank 0 (laptop, process 10) has "
            "0.1.0; all need the same",
        ),
        (
            {"config": {"seed": 1, "num_threads": 4, "ppo": {"gamma": 0.8}}},
            "rank 1 (mini, process 11) has ppo.gamma = 0.8, and rank 0 (laptop, process 10) has "
            "0.9; all need the same configuration",
        ),
        (
            {"split": ""},
            "rank 1 (mini, process 11) has split = none, and rank 0 (laptop, process 10) has 2:1",
        ),
    ],
)
def test_one_that_differs_is_named(changed, told):
    with pytest.raises(ConfigError) as caught:
        check_alike([FIRST, dataclasses.replace(OTHER, **changed)])
    assert str(caught.value) == told


def test_the_interface_is_that_of_the_route():
    assert is_loopback(address_towards("127.0.0.1", 1))
    assert interface_of("127.0.0.1").startswith("lo")
    assert interface_of("203.0.113.1") == ""


def test_a_loopback_address_is_not_taken_where_others_are_elsewhere():
    assert reachable_address("127.0.1.1", ["127.0.0.1", ""], 1) == "127.0.1.1"
    assert reachable_address("10.0.0.1", ["10.0.0.2"], 1) == "10.0.0.1"
    towards = address_towards("192.0.2.77", 1)
    assert reachable_address("127.0.1.1", ["127.0.1.1", "192.0.2.77"], 1) == (
        towards or "127.0.1.1"
    )


def test_a_rank_without_a_gpu_of_its_own_is_named_where_all_are_to_have_one():
    place, config = place_of({**RANK_1, "LOCAL_RANK": "1"}), make_config({}, ["device=cuda"])
    with pytest.raises(ConfigError) as caught:
        device_of(config, place, [dataclasses.replace(FIRST, device="cuda"), OTHER])
    assert str(caught.value) == (
        "device = cuda: rank 1 (mini, process 11) has no GPU of its own; use cpu"
    )
    assert device_of(make_config({}), place, [FIRST, OTHER]).type == "cpu"


def test_ranks_of_a_machine_have_a_gpu_each(monkeypatch):
    monkeypatch.setattr(device, "why_no_cuda", lambda: "")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    assert own_gpu(place_of({**RANK_1, "LOCAL_RANK": "0"})) == "cuda"
    assert own_gpu(place_of({**RANK_1, "LOCAL_RANK": "1"})) == "cpu"


def test_nccl_is_for_gpus_everywhere():
    assert backend_of("cpu") == "gloo"
    assert backend_of("cuda") == "cpu:gloo,cuda:nccl"  # what is in main memory goes over Gloo
