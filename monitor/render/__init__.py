"""How anything is written in cells: text, numbers, colours, dots."""
