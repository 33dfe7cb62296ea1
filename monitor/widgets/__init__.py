"""Widgets that take keys and the mouse: one file per pane, with its lines, state and widget.

Each widget gets the data that it shows, and redraws itself when the data change.
"""
