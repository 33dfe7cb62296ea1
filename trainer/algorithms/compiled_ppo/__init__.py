"""PPO's update on the processor as compiled loops that never return to Python.

`algorithms/ppo.py` says the same in PyTorch, and tests hold one against the other. No other
algorithm has such loops.
"""
