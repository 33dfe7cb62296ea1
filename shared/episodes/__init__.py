"""Episodes: what is drawn of them, and the files that record them."""
