"""The page of a run: the memory-mapped file that a process writes and others read, lock-free."""
