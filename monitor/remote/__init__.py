"""A run on another machine, watched through the user's own ssh.

`operant stream RUN` on the run's machine writes frames to its standard output (`sending.py`); here
`mirror.py` writes them as files into a temporary run folder, which `remote_run.py` and
`remote_list.py` read. No port, no daemon, nothing to install but operant on both sides. Nothing is
ever sent the other way.
"""
