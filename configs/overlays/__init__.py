"""Overlays for environments of many agents: sizes, and what is looked at on the way."""
