"""The record of how a run was started, and the digest that ranks compare before they train."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from operant.shared.runs import provenance
from operant.shared.runs.provenance import code_files
from operant.shared.runs.run_folder import DIFF_FILE, PACKAGES_FILE, create_run


def test_the_digest_of_the_code_is_of_the_files_of_each_side(monkeypatch):
    digests = {provenance.code_digest()}
    for sides in ((), ("shared",), ("trainer",), ("commands",)):
        monkeypatch.setattr(provenance, "CODE", sides)
        digests.add(provenance.code_digest())
    assert len(digests) == 5


def git(*arguments: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """The current folder, with `train.py` in a commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q")
    (folder / "train.py").write_text("a = 1\nb = 2\n")
    git("add", "train.py")
    git("commit", "-qm", "first")
    return folder


def diff() -> str:
    return code_files()[DIFF_FILE].decode()


def test_the_changes_since_the_commit_are_a_patch(repository):
    assert diff() == "# no changes\n"
    (repository / "train.py").write_text("a = 1\nb = 3\n")
    (repository / "new.py").write_text("secret contents\n")
    (repository / "sub").mkdir()
    os.chdir(repository / "sub")
    kept = diff()
    assert kept.startswith("# not in git: new.py\ndiff --git a/train.py b/train.py\n")
    assert kept.endswith("-b = 2\n+b = 3\n")
    assert "secret contents" not in kept
    os.chdir(repository)
    git("checkout", "train.py")
    subprocess.run(["git", "apply"], input=kept.encode(), check=True)
    assert (repository / "train.py").read_text() == "a = 1\nb = 3\n"


def test_a_users_own_settings_of_diffs_run_no_program_and_change_nothing(repository):
    (repository / ".gitattributes").write_text("*.py diff=python\n")
    ran = repository / "ran"
    for name, value in {
        "diff.external": f"touch {ran}", "diff.python.textconv": f"touch {ran}; cat",
        "core.fsmonitor": f"touch {ran}", "diff.noprefix": "true", "color.ui": "always",
        "diff.relative": "true",
    }.items():  # fmt: skip
        git("config", name, value)
    (repository / "train.py").write_text("a = 1\nb = 3\n")
    assert "diff --git a/train.py b/train.py\n" in diff()
    assert "\n-b = 2\n+b = 3\n" in diff()
    assert not ran.exists()


def test_no_filter_that_a_repository_brings_is_run(repository):
    (repository / ".gitattributes").write_text("*.py filter=own\n")
    git("config", "filter.own.clean", f"touch {repository / 'ran'}; cat")
    (repository / "train.py").write_text("a = 1\nb = 3\n")
    assert diff().startswith("# not known: the configuration of this repository names filters")
    assert not (repository / "ran").exists()


def test_no_filter_that_a_submodule_brings_is_run(repository, tmp_path):
    ran = tmp_path / "ran"
    git("clone", "-q", str(repository), "part")
    git("-c", "advice.addEmbeddedRepo=false", "add", "part")
    git("commit", "-q", "-m", "part")
    git("-C", "part", "config", "filter.own.clean", f"touch {ran}; cat")
    (repository / "part/.git/info/attributes").write_text("*.py filter=own\n")
    (repository / "part/train.py").write_text("a = 1\nb = 3\n")
    (repository / "train.py").write_text("a = 1\nb = 3\n")
    assert "\n-b = 2\n+b = 3\n" in diff()
    assert not ran.exists()


def test_nothing_is_fetched_by_a_program_that_a_repository_brings(
    repository, tmp_path, monkeypatch
):
    git("config", "uploadpack.allowFilter", "true")
    part, ran = tmp_path / "part", tmp_path / "ran"
    source = f"file://{repository}"
    git("clone", "-q", "--no-checkout", "--filter=blob:none", source, str(part))
    monkeypatch.chdir(part)
    git("config", "remote.origin.uploadpack", f"touch {ran}; git-upload-pack")
    (part / "train.py").write_text("a = 1\nb = 3\n")
    assert diff().startswith("# ")
    assert not ran.exists()


def test_secrets_are_not_in_the_diff(repository):
    (repository / "train.py").write_text('a = 1\napi_key = "XXX XXX"\nurl = "https://me:XXX@x"\n')
    kept = diff()
    assert "XXX" not in kept
    assert "+api_key = ***\n" in kept


def test_a_huge_diff_is_cut_at_a_line_and_says_so(repository):
    (repository / "train.py").write_text("".join(f"line {i}\n" for i in range(200_000)))
    kept = diff()
    assert kept.startswith("# cut after 100,000 bytes\n")
    assert kept.endswith("\n")
    assert 99_000 < len(kept) < 101_000


def test_binary_files_are_named_and_letters_of_other_encodings_do_no_harm(repository):
    (repository / "weights").write_bytes(bytes(range(256)))
    git("add", "weights")
    (repository / "train.py").write_bytes(b"a = '\xff\xe9'\n")
    kept = diff()
    assert "Binary files /dev/null and b/weights differ\n" in kept
    assert "+a = '\ufffd\ufffd'\n" in kept


def test_outside_of_a_repository_there_are_packages_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert list(code_files()) == [PACKAGES_FILE]
    assert provenance.provenance(())["git_commit"] is None


@pytest.mark.parametrize(("variable", "value", "words"), [
    ("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1", "detected dubious ownership in repository at '"),
    ("PATH", "/nowhere", "git is not installed"),
])  # fmt: skip
def test_why_there_is_no_diff_is_one_line(variable, value, words, repository, monkeypatch):
    monkeypatch.setenv(variable, value)
    kept = diff()
    assert kept.startswith(f"# not known: {words}")
    assert kept.count("\n") == 1


def test_a_repository_without_a_commit_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    assert diff().startswith("# not known: ambiguous argument 'HEAD'")


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 >&-", "cat /dev/zero >&2"])
def test_a_git_that_does_not_end_is_not_waited_for(script, repository, monkeypatch):
    slow = repository / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\nexec {script}\n")
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(provenance, "GIT_WAIT_S", 0.2)
    began_s = time.monotonic()
    assert diff() == "# not known: git takes longer than 0.2 s\n"
    assert time.monotonic() - began_s < 30


def test_all_packages_are_listed_with_their_versions():
    packages = code_files()[PACKAGES_FILE].decode().splitlines()
    assert f"numpy=={np.__version__}" in packages
    names = [line.partition("==")[0] for line in packages]
    assert names == sorted(names)
    assert all(line.count("==") == 1 for line in packages)


def test_files_of_a_former_process_are_kept_where_they_differ():
    run, lock = create_run("a", {}, files={"git.diff": b"1", "packages.txt": b"x"})
    lock.release()
    run.replace_files({"git.diff": b"2", "packages.txt": b"x"}, 1)
    run.replace_files({"git.diff": b"3", "packages.txt": b"x"}, 2)
    found = {p.name: p.read_bytes() for p in run.folder.iterdir() if p.suffix in (".diff", ".txt")}
    assert found == {
        "git.1.diff": b"1", "git.2.diff": b"2", "git.diff": b"3", "packages.txt": b"x",
    }  # fmt: skip
