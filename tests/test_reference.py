"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import pytest
import reference

from operant.trainer.config.files import preset_names


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_page_of_reference_is_up_to_date(page):
    text = (reference.DOCS / page).read_text()
    assert text == reference.PAGES[page](), "make reference writes it anew"


def test_every_preset_is_listed():
    text = (reference.DOCS / "configuration.md").read_text()
    assert [name for name in preset_names() if f"`{name}`" not in text] == []
