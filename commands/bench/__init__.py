"""`operant bench`: measure the speed on this machine."""

from __future__ import annotations

from .speed import command as command
