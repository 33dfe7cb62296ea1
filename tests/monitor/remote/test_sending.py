"""What the end of a stream on the run's own machine sends beside the page."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from views import GPU, SAMPLES

from operant.monitor.remote.changed_files import whole
from operant.monitor.remote.frames import Frame
from operant.monitor.remote.mirror import Mirror, read_machine
from operant.monitor.remote.sending import _RunSender
from operant.monitor.runs.machine.machine import GpuProcess, GpuSample
from operant.monitor.runs.reading.run_description import description_of
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.runs.run_notes import change_notes
from operant.shared.runs.status import read_status


def files(frames) -> list[str]:
    return [frame.head.get("file") for frame in frames]


def test_the_machine_is_that_of_the_run_and_is_not_in_every_look(make_session):
    session, mirror = make_session(), Mirror("box")
    session.metrics.publish({"loss": 1.0}, 1, 1)
    sender = _RunSender(session.run)
    for frame in sender.look():
        mirror.take(frame)
    assert read_machine(mirror.run(session.run.id)).memory_bytes > 1 << 20
    assert "machine.json" not in files(sender.look())
    mirror.close()


def test_all_of_a_sample_comes_through_the_pipe():
    others = (GpuProcess(7, "ann", "python", 1 << 20), GpuProcess(8))
    gpu = replace(GPU, throttled=("too hot",), others=others)
    mirror = Mirror("box")
    for sample in (*SAMPLES, replace(SAMPLES[-1], gpus=(gpu, GpuSample("bare")))):
        head, data = whole("machine.json", json.dumps(asdict(sample)).encode())
        mirror.take(Frame({"run": "x", **head}, data))
        assert read_machine(mirror.run("x")) == sample
    mirror.close()


def test_a_status_is_that_of_the_run_whatever_the_clocks_say(make_session, monkeypatch):
    session, mirror = make_session(), Mirror("box")
    session.metrics.publish({"loss": 1.0, "odd": float("nan")}, 1, 1)
    for frame in _RunSender(session.run).look():
        mirror.take(frame)
    elsewhere = mirror.run(session.run.id)
    monkeypatch.setattr("time.time_ns", lambda: 0)
    here, there = read_status(session.run), read_status(elsewhere)
    assert (there.run, there.state, there.env_steps) == (f"box:{session.run.id}", "running", 1)
    assert str(there.metrics) == str(here.metrics)
    assert abs(here.age_s - there.age_s) < 60
    session.close("failed", 1, "no more")
    for frame in _RunSender(session.run).look():
        mirror.take(frame)
    assert read_status(elsewhere).state == "failed"
    mirror.close()


def test_files_that_a_loop_logged_are_counted_and_not_sent(make_session):
    session, mirror = make_session(), Mirror("box")
    session.metrics.publish({"loss": 1.0}, 1, 1)
    for step in (1, 2):
        MediaFolder(session.run.folder / "media").write("images", "a", step, ".png", b"pixels")
    frames = list(_RunSender(session.run).look())
    for frame in frames:
        mirror.take(frame)
    assert mirror.run(session.run.id).report()["num_media"] == 2
    assert not any(b"pixels" in frame.data for frame in frames)
    mirror.close()


def test_notes_and_configuration_are_sent_once_and_again_when_they_change(make_session):
    session, mirror = make_session(), Mirror("box")
    session.metrics.publish({"loss": 1.0}, 1, 1)
    session.run.write_manifest({"config": {"seed": 7, "ppo": {"gamma": 0.9}}})
    change_notes(session.run.folder, lambda notes: notes.with_tags(["base"]))
    (session.run.folder / "git.diff").write_text("diff --git a/é b/é\n+\tx\n")
    (session.run.folder / "packages.txt").write_text("numpy==2.1\n")
    sender = _RunSender(session.run)
    first = list(sender.look())
    for frame in first:
        mirror.take(frame)
    there = mirror.run(session.run.id)
    texts = [(there.folder / name).read_text() for name in ("git.diff", "packages.txt")]
    description = description_of(there.manifest(), *texts)
    assert description.diff == ("diff --git a/é b/é", "+   x")
    assert description.packages == {"numpy": "2.1"}
    assert there.notes() == session.run.notes()
    # A status alone waits for neither page nor machine.
    assert files(first).index("notes.toml") < files(first).index("status.json")
    assert files(first).index("status.json") < files(first).index("machine.json")
    assert not {"notes.toml", "run.toml"} & set(files(sender.look()))
    change_notes(session.run.folder, lambda notes: notes.with_tags(["v2"]))
    for frame in sender.look():
        mirror.take(frame)
    assert there.notes().tags == ("base", "v2")
    mirror.close()
