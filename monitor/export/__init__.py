"""Every row of a run as a file of another format."""
