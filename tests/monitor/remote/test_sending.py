"""What the end of a stream on the run's own machine says beside the page."""

from __future__ import annotations

import json
from dataclasses import replace

from views import GPU, SAMPLES

from operant.monitor.remote.messages import read_head, read_machine
from operant.monitor.remote.sending import _Sender
from operant.monitor.runs.machine.machine import GpuProcess, GpuSample, MachineSample
from operant.monitor.runs.machine.tuning_advice import knobs_of
from operant.monitor.runs.reading.run_description import Setting, description_of
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.runs.run_notes import change_notes


def test_the_machine_is_that_of_the_run_and_is_not_in_every_frame(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    sender = _Sender(session.run)
    said = json.loads(json.dumps(sender.greeting().head["machine"]))
    assert MachineSample.from_json(said).memory_bytes > 1 << 20
    assert "machine" not in sender.look().head
    sender.close()


def test_all_of_a_sample_comes_through_the_pipe():
    others = (GpuProcess(7, "ann", "python", 1 << 20), GpuProcess(8))
    gpu = replace(GPU, throttled=("too hot",), others=others)
    for sample in (*SAMPLES, replace(SAMPLES[-1], gpus=(gpu, GpuSample("bare")))):
        assert read_machine(json.loads(json.dumps(sample.as_json()))) == sample


def test_a_sample_of_an_older_operant_is_shown_without_what_it_lacks():
    old = {
        "num_processes": 1, "num_threads": 2, "memory_bytes": 3, "total_memory_bytes": 4,
        "num_cores": 5, "cpu_cores": None, "gpus": [{"name": "H200"}],
    }  # fmt: skip
    assert read_machine(old) == MachineSample(1, 2, 3, 4, 5, gpus=(GpuSample("H200"),))


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


def test_files_that_a_loop_logged_are_counted_and_not_sent(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    sender = _Sender(session.run)
    assert sender.greeting().head["num_media"] == 0
    for step in (1, 2):
        MediaFolder(session.run.folder / "media").write("images", "a", step, ".png", b"pixels")
    frame = sender.look()
    assert read_head(json.loads(json.dumps(frame.head))).num_media == 2
    assert b"pixels" not in frame.body
    sender.close()


def test_a_sample_of_another_version_is_left_out():
    assert read_machine(None) is None
    assert read_machine({"gpus": [], "horsepower": 3}) is None
    assert read_machine({"processes": 1}) is None


def test_notes_and_configuration_are_sent_once_and_again_when_they_change(make_session):
    session = make_session()
    session.metrics.publish({"loss": 1.0}, 1, 1)
    session.run.write_manifest(
        {
            "config": {"seed": 7, "ppo": {"gamma": 0.9}},
            "defaults": {"seed": 1},
            "sources": {"preset cart_pole_ppo": ["ppo.gamma"], "you": ["seed"]},
        }
    )
    change_notes(session.run.folder, lambda notes: notes.with_tags(["base"]))
    (session.run.folder / "git.diff").write_text("diff --git a/é b/é\n+\tx\n")
    (session.run.folder / "packages.txt").write_text("numpy==2.1\n")
    sender = _Sender(session.run)
    said = read_head(json.loads(json.dumps(sender.greeting().head)))
    assert said.notes.notes() == session.run.notes()
    description = said.description.description()
    assert description.diff == ("diff --git a/é b/é", "+   x")
    assert description.packages == {"numpy": "2.1"}
    texts = [(session.run.folder / name).read_text() for name in ("git.diff", "packages.txt")]
    assert description == description_of(session.run.manifest(), *texts)
    assert said.description.description().has_sources
    assert not {"notes", "description"} & sender.look().head.keys()
    change_notes(session.run.folder, lambda notes: notes.with_tags(["v2"]))
    assert sender.look().head["notes"]["tags"] == ["base", "v2"]
    sender.close()


def test_of_odd_settings_those_that_can_be_shown_are():
    description = {
        "settings": [
            ["a", "1", None, None],
            ["b"],
            [None, "2", None, ""],
            ["c\x1b[2J", "3", "4", "you"],
        ]
    }
    head = read_head({"status": {"state": "running"}, "description": description})
    assert head.description.description().settings == (
        Setting("a", "1"),
        Setting("c [2J", "3", "4", "you"),
    )
