"""The processor's fast path: rollouts and updates as compiled loops that never return to Python.

Matrix products, activations and networks are small functions; `collecting.py` and `learning.py`
put them together. `rollout.py` and `ppo.py` one folder up say the same in PyTorch, and the tests
hold one against the other.
"""
