"""The monitor: it reads runs and shows them in a terminal.

`app.py` opens screens (`screens/`), which consist of widgets (`widgets/`). Widgets draw lines that
`charts/` and `panels/` make, with the numbers and colours of `render/`. `runs/` reads the runs.
docs/changing.md describes the other folders, and how to add a pane, a chart, a key or a sink.
"""
