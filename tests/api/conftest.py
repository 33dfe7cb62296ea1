"""Environments that are defined in a test as they would be in a script."""

from __future__ import annotations

import pytest
from own_lines import make_line_class


@pytest.fixture
def line():
    return make_line_class()
