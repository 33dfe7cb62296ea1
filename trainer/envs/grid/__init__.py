"""A grid world of many agents: ore from mines, batteries from generators, hearts from altars.

The rules of such a world in MettaGrid (package `mettagrid`), with the observations of that, so that
one policy plays both. `environment.py` is the episode, `observing.py` what agents see, `section.py`
what can be configured for both.
"""
