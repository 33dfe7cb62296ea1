"""operant from Python: `operant.train`, `load`, `evaluate`, `runs`, `show` and `Run`.

The package's root lists these names and imports each at its first use. They run the same code as
the commands; docs/python.md shows them.
"""
