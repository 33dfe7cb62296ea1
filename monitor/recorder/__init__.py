"""The process beside a run: it turns the page into files, and passes its numbers on to sinks.

`recording.py` is the process, `page_recorder.py` what it does with the run's page; a sink is a file
`<name>_sink.py`, and docs/changing.md says what else it takes.
"""
