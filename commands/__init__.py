"""One file a command: parse, import the one side needed, call it, print.

A command of several has a folder. Their names are in `COMMANDS` of `cli.py`; files that have no
command of their name hold what several share.
"""
