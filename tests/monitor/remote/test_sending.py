"""The run's machine streams samples, status, media and notes to watchers."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from views import GPU, SAMPLES
from waiting import wait_for

from operant.monitor.remote.changed_files import whole
from operant.monitor.remote.frames import MAX_MEDIA_BYTES, Frame, StreamError
from operant.monitor.remote.mirror import Mirror, read_machine
from operant.monitor.remote.sending import _RunSender
from operant.monitor.runs.machine.machine import GpuProcess, GpuSample
from operant.monitor.runs.reading.media import RecordedMedia, caption_of
from operant.monitor.runs.reading.run_description import description_of
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.runs.run_elsewhere import RunElsewhere
from operant.shared.runs.run_notes import change_notes
from operant.shared.runs.status import read_status

STEP = 1_800_000_000 * 10**9  # some loops log by time


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
    odd = {"odd": float("nan"), "speed/env_steps_per_s": float("inf"), "progress/eta_s": -1.0}
    session.metrics.publish({"loss": 1.0, **odd}, 1, STEP)
    for frame in _RunSender(session.run).look():
        mirror.take(frame)
    elsewhere = mirror.run(session.run.id)
    monkeypatch.setattr("time.time_ns", lambda: 0)
    here, there = read_status(session.run), read_status(elsewhere)
    assert (there.run, there.state, there.env_steps) == (
        f"box:{session.run.id}", "running", STEP
    )  # fmt: skip
    assert str(there.metrics) == str(here.metrics)
    assert abs(here.age_s - there.age_s) < 60
    session.close("failed", 1, "no more")
    for frame in _RunSender(session.run).look():
        mirror.take(frame)
    assert read_status(elsewhere).state == "failed"
    mirror.close()


def test_the_newest_file_of_each_name_that_a_loop_logged_is_sent(make_session):
    session, mirror = make_session(), Mirror("box")
    session.metrics.publish({"loss": 1.0}, 1, 1)
    media = MediaFolder(session.run.folder / "media")
    for step in (1, 2):
        media.write("images", "a", step, ".png", b"pixels %d" % step)
    media.write("images", "large", 1, ".png", bytes(MAX_MEDIA_BYTES + 1))
    media.write("images", "b", 1, ".png", b"b", caption="what it shows")
    sender, there = _RunSender(session.run), mirror.run(session.run.id)
    wait_for(
        lambda: (
            [mirror.take(frame) for frame in sender.look()]
            and len(RecordedMedia(there).read()) == 2
        )
    )
    assert [file.path.read_bytes() for file in RecordedMedia(there).read()] == [b"pixels 2", b"b"]
    assert caption_of(RecordedMedia(there).read()[1]) == "what it shows"
    assert there.report()["num_media"] == 4
    assert "media" not in files(sender.look())
    mirror.close()


def test_only_paths_of_media_are_written_and_the_oldest_go(monkeypatch):
    monkeypatch.setattr("operant.monitor.remote.mirror.MAX_MEDIA", 3)
    mirror = Mirror("box")
    folder = mirror.run("x").folder
    for part in (
        "media/../run.toml",
        "../x",
        "media/a/../b",
        "media/.x/a",
        "files/a",
        "media/a/.b",
    ):
        with pytest.raises(StreamError):
            mirror.take(Frame({"run": "x", "file": "media", "part": part}, b"x"))
    for step in range(1, 9):
        head = {"run": "x", "file": "media", "part": f"media/images/a-{step:08}.png"}
        mirror.take(Frame(head, b"x"))
    assert [file.step for file in RecordedMedia(RunElsewhere("x", "x", folder)).read()] == [6, 7, 8]
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
