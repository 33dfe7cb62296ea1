"""Which files `push --with-code` adds to a shared policy, and which a pull takes."""

from __future__ import annotations

import pytest

from operant.commands.helpers.began_elsewhere import told_where_it_began
from operant.shared.errors import NotHereError, UsageError
from operant.shared.runs.run_folder import Run
from operant.trainer.experiment.sharing import author_code as sharing
from operant.trainer.experiment.sharing.author_code import author_code, pulled_code


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a module and a package."""
    folder = tmp_path / "project"
    (folder / "pack_of_e1" / "inner").mkdir(parents=True)
    for name in ("lone_env_e1.py", "pack_of_e1/__init__.py", "pack_of_e1/inner/net.py", "other.py"):
        (folder / name).write_text(f"# {name}")
    (folder / "pack_of_e1" / "notes.txt").touch()
    monkeypatch.chdir(folder)
    return folder


def test_modules_are_shared_alone_and_packages_whole(project):
    config = {"env": "gymnasium:lone_env_e1:Env", "policy": {"encoder": "pack_of_e1.inner.net:Net"}}
    assert author_code(config) == {
        "code/lone_env_e1.py": b"# lone_env_e1.py",
        "code/pack_of_e1/__init__.py": b"# pack_of_e1/__init__.py",
        "code/pack_of_e1/inner/net.py": b"# pack_of_e1/inner/net.py",
    }


@pytest.mark.parametrize(
    "env", ["cart_pole", "gymnasium:CartPole-v1", "gymnasium:gymnasium.envs:Env", "gymnasium:own/X"]
)
def test_what_is_installed_or_of_a_script_has_no_files(project, env):
    assert author_code({"env": env}) == {}


def test_too_much_code_is_refused_in_one_line(project, monkeypatch):
    monkeypatch.setattr(sharing, "MAX_FILES", 1)
    with pytest.raises(UsageError, match="--with-code: 2 files; at most 1"):
        author_code({"env": "pettingzoo:pack_of_e1"})
    monkeypatch.setattr(sharing, "MAX_FILE_BYTES", 3)
    with pytest.raises(UsageError, match=r"--with-code: .*lone_env_e1\.py: more than 3 bytes"):
        author_code({"env": "gymnasium:lone_env_e1:Env"})


def test_a_pull_takes_plain_modules_and_follows_no_link(tmp_path):
    code = tmp_path / "code"
    (code / "pack").mkdir(parents=True)
    for name in ("a.py", "pack/b.py", "c-d.py", "e.txt"):
        (code / name).write_text(name)
    (code / "link.py").symlink_to("/etc/hostname")
    assert pulled_code(tmp_path) == {"code/a.py": b"a.py", "code/pack/b.py": b"pack/b.py"}
    assert pulled_code(tmp_path / "nowhere") == {}


def error_of(run: Run, module: str) -> str:
    with pytest.raises(NotHereError) as raised, told_where_it_began(run):
        raise NotHereError(f"no module is called '{module}'", module=module)
    return str(raised.value)


def test_a_missing_module_of_a_shared_policy_is_answered_with_its_file(tmp_path):
    run = Run(tmp_path)
    assert error_of(run, "pack.env") == (
        "no module is called 'pack.env'; ask the author of the policy for pack/env.py, or for a "
        "`push --with-code`"
    )
    (tmp_path / "code" / "pack").mkdir(parents=True)
    (tmp_path / "code" / "pack" / "env.py").touch()
    said = f"it came with the policy: read {tmp_path / 'code' / 'pack'}, then copy it into this"
    assert said in error_of(run, "pack.env")
