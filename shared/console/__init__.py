"""The console of a run: what its process prints, kept in its folder as text with times."""
