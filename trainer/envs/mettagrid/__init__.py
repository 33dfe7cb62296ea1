"""MettaGrid: the grid worlds of the package `mettagrid`, stepped here or by workers."""
