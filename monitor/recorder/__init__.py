"""The process beside a run: it turns the page into files, and passes its numbers on to sinks.

`recording.py` is the process, `rank_recorder.py` what it does for each rank; a sink is a file
`<name>_sink.py`, and docs/changing.md says what else it takes.
"""
