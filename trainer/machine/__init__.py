"""The machine that a run is on: device, threads, main memory, and timers."""
