"""Several processes that learn as one: each steps its share of the environments, and what they
learn from is one big batch.
"""
