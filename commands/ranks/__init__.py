"""How one command starts several ranks, on this machine and, over ssh, on others."""
