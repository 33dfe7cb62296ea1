"""The console of a run: the output of its process, in its folder as text with times."""
