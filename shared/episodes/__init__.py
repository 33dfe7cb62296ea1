"""Episodes as they are drawn and kept in files."""
