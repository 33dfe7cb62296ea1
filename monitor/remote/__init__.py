"""A run on another machine, watched through the user's own ssh.

`operant stream RUN` on the run's machine writes frames to its standard output (`sending.py`); here
they become a copy of the page and a status (`remote_run.py`). No port, no daemon, nothing to
install but operant on both sides. Nothing is ever sent the other way.
"""
