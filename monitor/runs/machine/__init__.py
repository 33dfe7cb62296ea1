"""The machine of a run: processors, memory, GPUs and disks."""
