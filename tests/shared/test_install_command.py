"""The command that installs an extra, for each way in which operant can have been installed."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest

from operant.shared.install_command import install_command


@pytest.fixture
def installed_from(monkeypatch):
    def from_(url: str | None, **more: object) -> None:
        written = None if url is None else json.dumps({"url": url, **more})
        found = SimpleNamespace(read_text=lambda name: written)
        monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)

    return from_


def test_a_checkout_is_named_by_its_path_and_by_a_dot_in_it(installed_from, tmp_path, monkeypatch):
    checkout = tmp_path / "my operant"
    checkout.mkdir()
    installed_from(checkout.as_uri(), dir_info={"editable": True})
    assert install_command("mujoco") == f"pip install -e '{checkout}[mujoco]'"
    monkeypatch.chdir(checkout)
    assert install_command("mujoco") == "pip install -e '.[mujoco]'"
    installed_from(checkout.as_uri(), dir_info={})
    assert install_command("mujoco") == "pip install '.[mujoco]'"


def test_a_wheel_is_named_by_its_path_while_it_is_there(installed_from, tmp_path):
    wheel = tmp_path / "operant_rl-0.4.0-py3-none-any.whl"
    wheel.touch()
    installed_from(wheel.as_uri(), archive_info={})
    assert install_command("web") == f"pip install '{wheel}[web]'"
    wheel.unlink()
    assert install_command("web") == "pip install 'operant-rl[web]'"


@pytest.mark.parametrize("url", [None, "https://example.org/operant_rl-0.4.0.whl"])
def test_from_an_index_or_elsewhere_it_is_the_name(installed_from, url):
    installed_from(url)
    assert install_command("web") == "pip install 'operant-rl[web]'"


def test_a_checkout_that_was_not_installed_is_a_checkout(monkeypatch, tmp_path):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    monkeypatch.chdir(tmp_path)
    command = install_command("web")
    assert command.startswith("pip install -e '/")
    assert command.endswith("[web]'")
