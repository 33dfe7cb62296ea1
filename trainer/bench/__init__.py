"""How fast it is here: what `operant bench` and `benchmarks/gpu.py` measure."""
