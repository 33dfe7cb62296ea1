"""A machine reports whether it can run a rank before any start."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from operant.commands.ranks import rank_process
from operant.commands.ranks.answering import addresses_of_ssh, heard, lacking
from operant.commands.ranks.asking import sending_token
from operant.trainer.config.files import load_config


def test_a_configuration_that_can_be_trained_here_lacks_nothing():
    assert lacking(load_config("cart_pole_ppo").model_dump(mode="json")) == ""


def test_a_file_that_is_not_here_is_named(tmp_path):
    values = load_config("tinyphysics_ppo").model_dump(mode="json")
    values["tinyphysics"]["model"] = str(tmp_path / "model.onnx")
    assert f"no model at {tmp_path / 'model.onnx'}" in lacking(values)


def test_a_module_that_is_not_here_is_named():
    values = {"env": "native:of_someone_else:make", "algorithm": "ppo"}
    assert "no module is called 'of_someone_else'" in lacking(values)


def test_addresses_that_lead_to_who_asks_are_told_from_those_of_others():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        sending_token(listener) as token,
    ):
        port = listener.getsockname()[1]
        assert heard(["127.0.0.1", "127.0.0.2"], port) == {"127.0.0.1": token}
    assert len(token) == 16


def test_the_address_that_ssh_comes_from_is_known():
    assert addresses_of_ssh({"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"}) == ["10.0.0.1"]
    assert addresses_of_ssh({"SSH_CONNECTION": "fe80::1%eth0 50000 fe80::2%eth0 22"}) == []
    assert addresses_of_ssh({}) == []


def test_a_task_arrives_as_it_was_given_and_works_in_the_same_folder(tmp_path, monkeypatch):
    home, there = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home / "project", there / "project"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "project")
    reading, writing = os.pipe()
    os.write(writing, rank_process.task("train", split="1:2"))
    told = rank_process.read_task(reading)
    os.close(reading)
    os.close(writing)
    assert (told["do"], told["split"]) == ("train", "1:2")

    monkeypatch.setenv("HOME", str(there))
    rank_process.go_to_folder(told)
    assert Path.cwd() == there / "project"
    monkeypatch.setenv("HOME", str(tmp_path))
    rank_process.go_to_folder(told)  # by its whole name
    assert Path.cwd() == home / "project"
    rank_process.go_to_folder({"folder": str(tmp_path / "nowhere"), "below_home": None})
    assert Path.cwd() == home / "project"


def test_what_is_no_answer_is_none():
    assert rank_process.answer_in(rank_process.answer_line({"a": 1})) == {"a": 1}
    assert rank_process.answer_in(b"Last login: never\n") is None
    assert rank_process.answer_in(b"operant-rank {\n") is None
    assert rank_process.answer_in(b"operant-rank " + json.dumps([1]).encode()) is None
