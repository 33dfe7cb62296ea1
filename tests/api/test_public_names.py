"""The public names: `dir(operant)` and docs/api.md."""

from __future__ import annotations

import api_page
from command_line import python

import operant


def test_dir_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(operant) if not name.startswith("__")}
    assert shown == {*operant.__all__}
    others = shown - {api_page.NEEDS_TRANSFORMERS}
    assert all(hasattr(operant, name) for name in others)


def test_the_page_of_reference_is_up_to_date():
    assert api_page.PAGE.read_text() == api_page.page(), "make api-page writes it anew"


def test_algorithms_and_testing_need_no_import_of_their_own():
    code = "import operant; print(operant.algorithms.DQN, operant.testing.check_algorithm)"
    assert "check_algorithm" in python("-c", code).stdout
