"""Charts: axes, curves, smoothing, and which of them are drawn."""
