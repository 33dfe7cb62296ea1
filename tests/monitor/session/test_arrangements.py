"""How charts stand is remembered by project."""

from __future__ import annotations

from operant.monitor.charts.arrangement import Arrangement
from operant.monitor.session.arrangements import Arrangements, project_of


def test_runs_of_a_name_are_a_project():
    assert project_of("20261121-142530-cart_pole-ppo-k3f9") == "cart_pole-ppo"
    assert project_of("elsewhere") == "elsewhere"


def test_each_project_has_its_own_and_other_monitors_changes_stay(tmp_path):
    path = tmp_path / "new" / "charts.toml"
    one, other = Arrangements(path), Arrangements(path)
    wanted = Arrangement(("a/b",), ("c",), ("loss",), 3)
    one.keep("cart", wanted)
    other.keep("pole", Arrangement(columns=2, shows_hidden=True))
    again = Arrangements(path)
    assert (again.of("cart"), again.of("pole")) == (wanted, Arrangement(columns=2))
    assert again.of("else") == Arrangement()
    again.keep("cart", Arrangement())
    assert "cart" not in path.read_text()


def test_what_is_wrong_in_the_file_is_said_and_stays(tmp_path):
    path = tmp_path / "charts.toml"
    path.write_text('[cart]\ncolumns = -1\n[pole]\nhidden = ["x"]\n')
    some = Arrangements(path)
    assert "cart is not possible" in some.problem
    assert some.of("pole") == Arrangement(hidden=("x",))
    path.write_text("[cart")
    broken = Arrangements(path)
    assert "not used" in broken.problem
    broken.keep("cart", Arrangement(columns=2))
    assert path.read_text() == "[cart"
