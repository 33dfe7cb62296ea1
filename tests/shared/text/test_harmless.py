"""Text from outside, made safe to show and to keep."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.run_notes import MANIFEST_FILE, NOTES_FILE, RunNotes, change_notes
from operant.shared.text.harmless import harmless_toml

# Escape, bell, delete, C1, line and paragraph separators, direction of writing, no width, tags.
UNSEEN = (
    "\x1b[31m \x07 \x7f \x85 \x9b2J \u2028 \u2029 \u202e \u2066 \u200b \u200d \ufeff \U000e0041"
)


def is_plain(data: bytes) -> bool:
    return all(line.isprintable() for line in data.decode().split("\n"))


@pytest.mark.parametrize(
    "table",
    [
        {"name": f"a{UNSEEN}b", "note": 'é "quoted" \\ 日本 🙂'},
        {f"key {UNSEEN}": {f"inner {UNSEEN}": [UNSEEN, {"x": UNSEEN}]}},
        {"lines": "one\ntwo\ttab\r\n"},
        {"plain": [1, 2.5, True, "text"], "table": {"empty": ""}},
    ],
)
def test_toml_without_unseen_characters_reads_back_as_it_was(table):
    text = harmless_toml(tomli_w.dumps(table))
    assert is_plain(text.encode())
    assert tomllib.loads(text) == table


def test_what_people_can_read_stays_as_it_is():
    text = tomli_w.dumps({"note": "é 日本 🙂", "list": ["a", "b"]})
    assert harmless_toml(text) == text


def test_no_file_of_a_run_holds_characters_that_nobody_sees():
    config = {"env": f"x{UNSEEN}", f"key{UNSEEN}": [f"value{UNSEEN}"]}
    run, lock = create_run(
        "test", {"name": f"n{UNSEEN}", "command_line": f"c{UNSEEN}", "config": config}
    )
    lock.release()
    (run.folder / NOTES_FILE).write_text(tomli_w.dumps({"of a newer operant": UNSEEN}))
    change_notes(run.folder, lambda notes: RunNotes("", "a note"))
    assert is_plain((run.folder / MANIFEST_FILE).read_bytes())
    assert is_plain((run.folder / NOTES_FILE).read_bytes())
    assert run.manifest()["config"] == config
    assert run.manifest()["command_line"] == f"c{UNSEEN}"
