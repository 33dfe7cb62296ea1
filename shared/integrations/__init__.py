"""The page for anyone's training loop, in the shapes of other libraries: one file each."""
