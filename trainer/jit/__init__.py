"""Compiles functions for the processor and for GPUs, keeps machine code, and captures CUDA graphs.

`kernel.py` turns a scalar function into a kernel, which runs on the processor without a GPU.
"""
