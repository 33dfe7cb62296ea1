"""The process beside a run: it turns the page into files, and passes its numbers on to sinks."""
