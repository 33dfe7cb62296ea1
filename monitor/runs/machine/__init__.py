"""The machine of a run: processors, memory, GPUs, disks and processes."""
