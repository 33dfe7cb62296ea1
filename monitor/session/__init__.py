"""What holds while one monitor is open: settings, keys, memory, its terminal."""
