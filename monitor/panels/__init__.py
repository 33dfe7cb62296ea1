"""The lines of the panes around the charts, and which panes there are (`pane_layout.py`)."""
