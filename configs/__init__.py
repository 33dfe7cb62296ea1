"""Presets: one TOML file per experiment, read by `trainer/config/` alone."""
