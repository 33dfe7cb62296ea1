"""Lines that several panes, screens or commands show; `pane_layout.py` lists the panes."""
