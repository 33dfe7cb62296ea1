"""Starting several ranks with one command: on this machine and, over ssh, on others."""
