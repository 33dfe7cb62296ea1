"""Environments of other libraries, stepped here or in processes over one shared region.

`hosted.py` is what the rest of the trainer sees. A *block* is the environments of one process, or
all of them where they are stepped here; what steps in it is a `BatchedEnvs`. Files that a worker
imports leave PyTorch and Numba alone, so that it starts within a few tenths of a second.
"""
