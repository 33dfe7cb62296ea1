"""Training on a GPU: environments, policy and update live there, and nothing waits for Python.

`kernel.py` turns a scalar function into a kernel; `parts.py` puts the parts together. All of it
also runs on the processor, without kernels or graphs, where the tests hold it against the loops of
`compiled/`.
"""
