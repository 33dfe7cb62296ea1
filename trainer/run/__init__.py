"""A run's process: signals, threads, device, telemetry, checkpoints."""
