"""PyTorch's CUDA path without a GPU: a null runtime, and operations that the processor computes.

`start/sitecustomize.py` puts it into every Python process of a rehearsal. See docs/gpu.md.
"""
