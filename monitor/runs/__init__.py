"""What is read of runs and machines, and lists of them; nothing here draws."""
