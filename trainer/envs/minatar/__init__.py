"""MinAtar's games, by the rules in docs/minatar-rules.md.

The file of a game has `reset`, `step` and `observe`, and the names of its channels with the roles
that drawings show; `common.py` has what all games share. All random draws are calls of `draw_real`
and `draw_integer` of `bindings.py`. `game.py` binds them to those of `draws.py`; tests bind others,
such as recorded draws.
"""
