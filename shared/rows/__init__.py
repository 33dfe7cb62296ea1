"""Every row of a run on disk: `rows.sqlite`."""
