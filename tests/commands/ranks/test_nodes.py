"""Which machines a command names."""

from __future__ import annotations

import socket

import pytest

from operant.commands.ranks.launch import launch_of
from operant.commands.ranks.nodes import Node, nodes_of
from operant.shared.errors import UsageError


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
        ("localhost,,mini", "a name is empty"),
        ("localhost,mini,mini", "mini is there twice"),
        ("localhost,mini,me@Mini", "me@Mini is there twice"),
        ("localhost,127.0.0.1", "this machine is there twice"),
        ("mini,air", "is without this machine"),
        ("localhost,-oProxyCommand=date", "is no machine"),
        ("localhost,a b", "is no machine"),
        ("localhost,mini=", "is no machine"),
        ("localhost,@mini", "is no machine"),
        ("localhost,mini:port", "is no machine"),
    ],
)
def test_what_is_no_list_of_machines_is_said(text, told):
    with pytest.raises(UsageError, match=told):
        nodes_of(text)


def test_ranks_are_in_the_order_of_the_machines_with_this_one_first():
    launch = launch_of(2, "mini,localhost,air", "1:2:3:4:5:6")
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


def test_a_split_in_words_stays_as_it_is():
    launch = launch_of(None, "mini,localhost", "auto")
    assert launch is not None
    assert launch.split == "auto"


def test_one_process_is_no_launch():
    assert launch_of(None, None, "") is None
    assert launch_of(1, None, "") is None
    assert launch_of(None, "localhost", "") is None


def test_no_more_ranks_than_can_be():
    with pytest.raises(UsageError, match="2000 ranks are too many"):
        launch_of(2000, None, "")
