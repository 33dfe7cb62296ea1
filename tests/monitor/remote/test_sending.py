"""What the end of a stream on the run's own machine says beside the page."""

from __future__ import annotations

import json

from operant.monitor.remote.messages import read_head, read_machine
from operant.monitor.remote.sending import _Sender
from operant.monitor.runs.knobs import knobs_of
from operant.monitor.runs.machine import MachineSample


def test_the_machine_is_that_of_the_run_and_is_not_in_every_frame(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    sender = _Sender(session.run)
    said = json.loads(json.dumps(sender.greeting().head["machine"]))
    assert MachineSample.from_json(said).memory_bytes > 1 << 20
    assert "machine" not in sender.look().head
    sender.close()


def test_what_hints_name_is_told_where_it_is_known(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    sender = _Sender(session.run)
    assert sender.greeting().head["knobs"] is None  # a loop of one's own
    sender.close()
    config = {"algorithm": "ppo", "ppo": {"num_epochs": 4}, "num_envs": 8}
    session.run.write_manifest({"config": config, "device": "cuda (NVIDIA H200)"})
    sender = _Sender(session.run)
    said = read_head(json.loads(json.dumps(sender.greeting().head))).knobs
    assert said.knobs() == knobs_of(session.run.manifest())
    assert said.knobs().is_on_gpu
    sender.close()


def test_a_sample_of_another_version_is_left_out():
    assert read_machine(None) is None
    assert read_machine({"gpus": [], "horsepower": 3}) is None
    assert read_machine({"processes": 1}) is None
