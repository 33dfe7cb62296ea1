"""Which machines a command names."""

from __future__ import annotations

import socket

import pytest

from operant.commands.ranks import asking
from operant.commands.ranks.asking import MeetingPlace
from operant.commands.ranks.launch import Launch, launch_of
from operant.commands.ranks.nodes import Node, nodes_of
from operant.shared.errors import UsageError
from operant.trainer.config.files import load_config
from operant.trainer.machine import device as trainer_device


def test_names_are_as_ssh_has_them_with_a_port_and_a_command():
    assert nodes_of("localhost, mini,me@air:2222,big=venv/bin/python -m operant,fe80::1") == [
        Node("localhost"),
        Node("mini", "mini"),
        Node("me@air:2222", "me@air", "2222"),
        Node("big", "big", command="venv/bin/python -m operant"),
        Node("fe80::1", "fe80::1"),
    ]


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "::1"])
def test_this_machine_is_known_by_its_names_and_addresses(name):
    assert nodes_of(name)[0].is_here
    assert nodes_of(socket.gethostname())[0].is_here


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a name is empty"),
        ("localhost,mini,me@Mini", "me@Mini is there twice"),
        ("localhost,127.0.0.1", "this machine is there twice"),
        ("mini,air", "is without this machine"),
        ("localhost,-oProxyCommand=date", "is not a machine"),
        ("localhost,mini:port", "is not a machine"),
    ],
)
def test_what_is_no_list_of_machines_is_said(text, told):
    with pytest.raises(UsageError, match=told):
        nodes_of(text)


def test_ranks_are_in_the_order_of_the_machines_with_this_one_first():
    launch = launch_of("2", "mini,localhost,air", "1:2:3:4:5:6")
    assert launch is not None
    assert launch.split == "3:4:1:2:5:6"
    members = launch.members()
    assert [member.node.name for member in members] == [
        "localhost", "localhost", "mini", "mini", "air", "air",
    ]  # fmt: skip
    places = [member.place for member in members]
    assert [place.rank for place in places] == [0, 1, 2, 3, 4, 5]
    assert [place.local_rank for place in places] == [0, 1, 0, 1, 0, 1]
    assert {(place.world_size, place.local_world_size) for place in places} == {(6, 2)}


def test_each_machine_may_have_a_number_of_its_own():
    launch = launch_of("1,2,3", "mini,localhost,air", "1:2:3:4:5:6")
    assert launch is not None
    assert launch.split == "2:3:1:4:5:6"
    assert [(member.node.name, *_local(member)) for member in launch.members()] == [
        ("localhost", 0, 2), ("localhost", 1, 2), ("mini", 0, 1),
        ("air", 0, 3), ("air", 1, 3), ("air", 2, 3),
    ]  # fmt: skip


def _local(member):
    return member.place.local_rank, member.place.local_world_size


@pytest.mark.parametrize(
    ("processes", "told"),
    [
        ("0", "--processes 0 is not a number of processes"),
        ("2,", "--processes 2, is not a number"),
        ("2,1,1", "3 numbers for 2 machines"),
        ("1000,1000", "2000 ranks are too many"),
    ],
)
def test_what_is_no_number_of_processes_is_said(processes, told):
    with pytest.raises(UsageError, match=told):
        launch_of(processes, "localhost,mini", "")


@pytest.mark.parametrize(("device", "counts"), [("cuda", [2, 8, 1]), ("cpu", [1, 1, 1])])
def test_each_gpu_of_a_machine_has_a_rank_where_the_run_is_for_gpus(monkeypatch, device, counts):
    monkeypatch.setattr(asking, "meeting_place", lambda *_: MeetingPlace("10.0.0.1", [8, 0]))
    monkeypatch.setattr(trainer_device, "num_gpus", lambda: 2)
    split = "3:5:6:7:8:9:1:1:1:1:2" if device == "cuda" else "1:2:3"
    launch = launch_of(None, "mini,localhost,air", split)
    assert launch is not None
    launch.check(load_config("cart_pole_ppo", [f"device={device}"]))
    assert launch.listener
    launch.listener.close()
    assert launch.counts == counts
    if device == "cuda":
        assert launch.split == "1:1:3:5:6:7:8:9:1:1:2"


def test_a_launch_is_the_same_in_the_process_that_inherits_it():
    launch = launch_of(None, "localhost,mini", "2:1")
    assert launch is not None
    launch.listener = socket.create_server(("127.0.0.1", 0))
    inherited = Launch.of_argument(launch.as_argument())
    assert inherited.members() == launch.members()
    assert inherited.split == launch.split
    inherited.listener = None
    launch.listener.detach()


def test_one_process_is_no_launch():
    assert launch_of(None, None, "") is None
    assert launch_of("1", None, "") is None
    assert launch_of(None, "localhost", "") is None


def test_no_more_ranks_than_can_be():
    with pytest.raises(UsageError, match="2000 ranks are too many"):
        launch_of("2000", None, "")
