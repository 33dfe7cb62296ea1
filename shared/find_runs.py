"""Where these functions were in 0.2.0; scripts may import them from here."""

from __future__ import annotations

from .runs.find_runs import find_run, latest_run, list_runs

__all__ = ["find_run", "latest_run", "list_runs"]
