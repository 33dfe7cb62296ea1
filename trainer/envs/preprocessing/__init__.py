"""Preprocessing of frames, actions and rewards that people expect for games, in one order."""
