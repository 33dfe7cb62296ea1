"""The lines of the panels around the charts."""
