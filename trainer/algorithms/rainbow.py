"""Rainbow: what `sections` sets on top of C51, and nothing else.

Source: Hessel et al. 2018, arXiv:1710.02298.
"""

from __future__ import annotations

from .c51 import C51


class Rainbow(C51):
    """C51 with the double choice, dueling streams, noisy layers, n steps and priorities."""
