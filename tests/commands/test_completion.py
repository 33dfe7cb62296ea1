"""Completions of shells, by their protocol and by their own scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from command_line import error_line, operant, python

from operant.cli import cli
from operant.commands.completion import Bash, answer_shell
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.run_notes import RunNotes, change_notes
from operant.shared.runs.session import RunSession
from operant.trainer.config.files import preset_names
from operant.trainer.envs.names import ALL_ENV_NAMES


def offered(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values that bash is told of when the line up to the cursor is `operant ` and `line`."""
    monkeypatch.setenv("COMP_WORDS", f"operant {line}")
    asked = Bash(cli, {}, "operant", "_OPERANT_COMPLETE")
    return [item.value for item in asked.get_completions(*asked.get_completion_args())]


@pytest.fixture
def complete(monkeypatch):
    return lambda line: offered(line, monkeypatch)


def new_run(name):
    run, lock = create_run(name, {})
    lock.release()
    return run.id


@pytest.mark.parametrize(
    "line", ["status ", "monitor ", "stop ", "eval ", "export ", "play ", "train --resume ",
             "logs ", "edit ", "trace ", "push "],
)  # fmt: skip
def test_runs_are_offered_wherever_one_is_asked_for(complete, line):
    ids = {new_run("first"), new_run("second")}
    assert set(complete(line)) == ids
    assert set(complete(f"{line}{next(iter(ids))[:8]}")) == ids


def test_what_a_shell_would_run_is_not_offered(complete):
    run = new_run("plain")
    folder = find_run(run).folder
    for name in ("aa;reboot", "aa|b", "aa&b", "aa$(b)", "aa(b)", "-aa", "aa>b"):
        (folder.parent / name).mkdir()
        (folder.parent / name / "run.toml").write_text("")
    assert complete("status aa") == []
    assert complete("status ") == [run]


def test_a_part_of_an_id_is_completed_where_only_one_run_has_it(complete):
    first, _ = new_run("first"), new_run("second")
    assert complete("status first") == [first]
    # What both have in common would take the place of what was typed.
    assert complete("status s") == complete("status nothing") == []


def test_names_and_tags_are_offered(complete):
    run, lock = create_run("first", {})
    lock.release()
    change_notes(run.folder, lambda notes: RunNotes("wide-net", "", ("baseline", "v2")))
    assert complete("edit wi") == complete("logs wi") == complete("rm wide-") == ["wide-net"]
    assert complete(f"edit {run.id} --tag ") == ["baseline", "v2"]


def test_environments_presets_overlays_and_files_are_offered(complete):
    offered = [*ALL_ENV_NAMES, *preset_names()]
    assert complete("train ") == complete("bench ") == offered
    assert complete("train pendulum --algorithm s") == ["sac"]
    assert "sac.gamma=" in complete("train pendulum --algorithm sac --set sac.ga")
    assert complete("train mettagrid --with fa") == ["fast"]
    assert complete("train ./my") == ["./my"]  # which the shell takes for the beginning of a file
    assert complete("train --with gpu") == ["gpu_large", "gpu_small"]


def test_keys_are_those_of_the_configuration_in_the_line(complete):
    assert "num_envs=" in complete("train --set num")
    assert complete("train --set ppo.gamm") == ["ppo.gamma="]
    assert complete("train pendulum_sac --set sac.gamm") == ["sac.gamma="]
    line = "train --set env=pendulum --set algorithm=sac --set "
    assert "sac.gamma=" in complete(line)
    assert "ppo.gamma=" not in complete(line)
    assert complete("train --set dqn.gamm") == ["dqn.gamma="]  # what makes it DQN may still come


def test_themes_and_metrics_are_offered(complete):
    assert complete("monitor --theme co") == ["colour-blind", "contrast"]
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss/value": 1.0, "episode/return": 2.0}, 1, 10)
    assert complete("sweep cart_pole --objective lo") == ["loss/value"]
    session.close("finished", 0)


def test_a_sweep_is_asked_for_its_keys_metrics_and_name(complete, operant_home):
    (operant_home / "sweeps" / "wide").mkdir(parents=True)
    assert complete("status ") == complete("stop w") == ["wide"]
    assert complete("sweep cart_pole_ppo --resume ") == ["wide"]
    assert complete("sweep cart_pole_ppo --param ppo.gam") == ["ppo.gamma="]
    assert "pendulum_sac" in complete("sweep pend")


@pytest.mark.parametrize(
    "line",
    ["train --set", "train --set '", 'train "', "status --", "nonsense ", "train no_preset --set ",
     "train /no/file.toml --set p", "train --set = --set ", "train --set env.x=2 --set ",
     "train mettagrid_ppo+no --set ", "status \\", "train --set device=x=", "train +", "--", ""],
)  # fmt: skip
def test_nothing_that_is_typed_raises_or_is_said(line, monkeypatch, capsys):
    monkeypatch.setenv("COMP_WORDS", f"operant {line}")
    monkeypatch.setenv("COMP_CWORD", "2")
    for shell in ("bash_complete", "zsh_complete", "fish_complete", "nonsense", "no_complete"):
        monkeypatch.setenv("_OPERANT_COMPLETE", shell)
        answer_shell(cli)
        assert capsys.readouterr().err == ""


def test_asking_imports_nothing_heavy():
    code = (
        "import sys\nfrom operant.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'torch', 'numba', 'pandas', 'gymnasium', 'textual'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    new_run("test")
    for line in ("operant status ", "operant train --set ppo.", "operant monitor --theme d"):
        variables = {"_OPERANT_COMPLETE": "bash_complete", "COMP_WORDS": line}
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | variables,
                              capture_output=True, text=True)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("plain,")


# As bash calls it for a word that it has taken apart at the sign; `compopt` says what it was told.
_BASH = """
compopt() {{ echo compopt "$@"; }}
operant() {{ {python} -m operant "$@"; }}
eval "$(operant completion bash)"
COMP_LINE={line!r} COMP_POINT={point} COMP_WORDS=({words}) COMP_CWORD={cword}
_operant_completion operant
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "words", "cword", "answer"),
    [
        ("operant train --set ppo.gamm", "operant train --set ppo.gamm", 3,
         ["compopt -o nospace", "ppo.gamma="]),
        ("operant train --set device=cu", "operant train --set device = cu", 5, ["cuda"]),
        ("operant train --set compile=", "operant train --set compile =", 4, ["true", "false"]),
        ("operant train ./x", "operant train ./x", 2, ["compopt -o default", ""]),
    ],
)  # fmt: skip
def test_bash_takes_what_is_offered(line, words, cword, answer):
    script = _BASH.format(
        python=sys.executable, line=line, point=len(line), words=words, cword=cword
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.stdout.split("\n")[:-1], done.stderr) == (answer, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_it_understands(shell, monkeypatch):
    script = operant("completion", shell).stdout
    assert "_OPERANT_COMPLETE" in script
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    assert script == operant("completion").stdout
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_that_is_not_known_is_one_line(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name one: bash, zsh, fish" in error_line("completion")
    assert "tcsh" in error_line("completion", "tcsh")
    assert python("-m", "operant", "completion", "bash").returncode == 0
