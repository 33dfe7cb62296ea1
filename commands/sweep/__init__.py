"""`operant sweep`: a search for the best values of a configuration's keys."""

from __future__ import annotations

from .begin import command as command
