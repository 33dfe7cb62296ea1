"""The processor's fast path: rollouts and updates as compiled loops that never return to Python.

Matrix products, activations and networks are small functions; `collecting.py` and `learning.py`
put them together. `collector.py` and `algorithms/ppo.py` say the same in PyTorch, and tests
hold one against the other. No other algorithm has such loops.
"""
