"""Progress of compiling loops: how many are ready, and the estimated time left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from operant.trainer.experiment.compile_progress import CompileProgress
from operant.trainer.jit.machine_code import Files


class Loop:
    """A compiled loop as Numba's; `ready` is what its first call does."""

    def __init__(self, folder, name, code="0123456789abcdef"):
        self.signatures: list[str] = []
        self.stats = SimpleNamespace(cache_path=str(folder))
        self.py_func = SimpleNamespace(__qualname__=name)
        self._cache = SimpleNamespace(_cache_file=Files(folder, name, code))

    def ready(self):
        self.signatures.append("(i8)")

    def compile_elsewhere(self):
        self._cache._cache_file.path((("i8",), "x86_64")).touch()


@pytest.fixture
def clock():
    return SimpleNamespace(now=100.0)


def watched(loops, clock):
    return CompileProgress(loops, lambda: clock.now)


def test_the_time_left_falls_while_a_loop_is_compiled(tmp_path, clock):
    loops = [Loop(tmp_path, "reset_all_x"), Loop(tmp_path, "collect_template_x")]
    progress = watched(loops, clock)
    first = progress.look()
    clock.now += 1
    second = progress.look()
    assert first[:3] == second[:3] == (0, 2, "loops")
    assert second.left_s == pytest.approx(first.left_s - 1)
    loops[0].ready()
    assert progress.look().done == 1
    assert not progress.is_over
    loops[1].ready()
    assert progress.look() == (2, 2, "loops", None)
    assert progress.is_over


def test_no_time_is_promised_for_a_loop_of_which_nothing_is_known(tmp_path, clock):
    loops = [Loop(tmp_path, "collect_template_x"), Loop(tmp_path, "sac_update_x")]
    progress = watched(loops, clock)
    assert progress.look().left_s is None
    loops[1].ready()
    assert progress.look().left_s is not None


def test_the_seconds_of_the_last_time_are_expected_the_next_time_of_any_version(tmp_path, clock):
    progress = watched([loop := Loop(tmp_path, "collect_template_x")], clock)
    clock.now += 123
    loop.ready()
    progress.look()
    again = watched([Loop(tmp_path, "collect_template_x", code="ba9876543210")], clock)
    assert again.look().left_s == 123
    (tmp_path / "collect_template_x.seconds").write_text("damaged")
    assert watched([Loop(tmp_path, "collect_template_x", "1")], clock).look().left_s != 123
