"""What people watch a run with: pure code formats and draws, widgets show, one poller reads.

`app.py` opens screens (`screens/`), those are made of widgets (`widgets/`), and those draw lines
that `charts/` and `panels/` make, in the words and colours of `look/`. `runs/` reads.
docs/changing.md says what lives in the other folders, and what a pane, a chart, a key or a sink
takes.
"""
