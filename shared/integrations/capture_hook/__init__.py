"""The folder that `operant capture` puts in front of PYTHONPATH: it has a `sitecustomize` only."""
