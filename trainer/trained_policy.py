"""Where `load_trained` was in 0.2.0; scripts may import it from here."""

from __future__ import annotations

from .experiment.trained_policy import load_trained

__all__ = ["load_trained"]
