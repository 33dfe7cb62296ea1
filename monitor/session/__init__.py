"""State of one monitor process: settings, keys, memory, its terminal."""
