"""Policies as the compiled loops see them: networks, distributions and views of their weights."""
