"""The screens: which widgets stand together, and what a screen's own keys do."""
