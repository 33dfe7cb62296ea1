"""Tells people what happens to their runs, by their own commands and webhooks."""
