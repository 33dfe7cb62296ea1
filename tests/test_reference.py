"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import subprocess
import sys

import pytest
import reference

from operant.trainer.config.files import preset_names


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages as a new process writes them: click keeps what earlier tests made of an option."""
    folder = tmp_path_factory.mktemp("reference")
    subprocess.run([sys.executable, reference.__file__, str(folder)], check=True)
    return folder


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_page_of_reference_is_up_to_date(written, page):
    text = (reference.DOCS / page).read_text()
    assert text == (written / page).read_text(), "make reference writes it anew"


def test_every_preset_is_listed():
    text = (reference.DOCS / "configuration.md").read_text()
    assert [name for name in preset_names() if f"`{name}`" not in text] == []
