"""What is public: `dir(operant)` and the page of reference."""

from __future__ import annotations

import api_page

import operant


def test_dir_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(operant) if not name.startswith("__")}
    assert shown == {*operant.__all__}
    others = shown - {api_page.NEEDS_TRANSFORMERS}
    assert all(hasattr(operant, name) for name in others)


def test_the_page_of_reference_is_up_to_date():
    assert api_page.PAGE.read_text() == api_page.page(), "make api-page writes it anew"
