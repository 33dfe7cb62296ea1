"""Settings survive sessions, people's edits and broken files."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.render.palette import THEMES
from operant.monitor.session.settings import Settings, load_settings, save_settings


def test_without_a_file_all_is_as_it_comes(tmp_path):
    assert load_settings(tmp_path / "monitor.toml") == (Settings(), "")


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "new" / "monitor.toml"
    changed = Settings(
        "light", True, 2.0, True, ("console",), "wall time", 3, ("a",), ("loss/value",)
    )
    save_settings(path, changed)
    assert load_settings(path) == (changed, "")


def test_a_link_to_the_file_stays_one(tmp_path):
    kept = tmp_path / "dotfiles.toml"
    kept.write_text("bell = false\n")
    path = tmp_path / "monitor.toml"
    path.symlink_to(kept)
    save_settings(path, Settings(bell=True))
    assert path.is_symlink()
    assert load_settings(kept)[0].bell


def test_comments_and_order_of_the_lines_stay(tmp_path):
    path = tmp_path / "monitor.toml"
    path.write_text(
        '# mine\nbell = true  # loud\n\ntheme = "light" # of day\npanes = [\n  "console",\n]\n'
    )
    settings, _ = load_settings(path)
    save_settings(path, replace(settings, theme="contrast", panes=("charts", "console")))
    text = path.read_text()
    assert text.startswith('# mine\nbell = true  # loud\n\ntheme = "contrast" # of day\n')
    assert tomllib.loads(text)["panes"] == ["charts", "console"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("theme = ", "is not used"),
        ("smoothing = 0x" + "f" * 6000, "is not used"),
        ("panes = " + "[" * 5000 + "]" * 5000, "is not used"),
        ('theme = "pink"', "theme = 'pink' is not possible"),
        ("refresh_s = 0", "refresh_s = 0 is not possible"),
        ("smoothing = true", "is not possible"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_rest_holds(tmp_path, text, problem):
    path = tmp_path / "monitor.toml"
    path.write_text(f"bell = true\n{text}\n")
    settings, warning = load_settings(path)
    assert problem in warning
    assert "\n" not in warning
    assert settings.bell is (problem != "is not used")


def test_settings_of_another_version_are_ignored_and_stay_in_the_file(tmp_path):
    path = tmp_path / "monitor.toml"
    path.write_text("bell = true\nprocess_tree = true\n")
    assert load_settings(path) == (Settings(bell=True), "")
    save_settings(path, Settings(bell=False))
    assert "process_tree = true" in path.read_text()
    assert load_settings(path) == (Settings(), "")


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path):
    path = tmp_path / "monitor.toml"
    path.write_text("theme = ")
    save_settings(path, Settings(bell=True))
    assert path.read_text() == "theme = "


names = st.lists(st.text('abc/_"#[]é', max_size=8), max_size=3).map(tuple)


@given(theme=st.sampled_from(list(THEMES)), log_y=names, log_x=names, bell=st.booleans())
def test_any_change_after_any_other_is_kept(tmp_path_factory, theme, log_y, log_x, bell):
    path = tmp_path_factory.mktemp("settings") / "monitor.toml"
    save_settings(path, Settings(log_y=("first", "one # ] here")))
    changed = Settings(theme=theme, log_y=log_y, log_x=log_x, bell=bell)
    save_settings(path, changed)
    loaded, warning = load_settings(path)
    assert (loaded, warning) == (changed, "")
