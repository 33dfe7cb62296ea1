"""`operant.push` and `pull`: folders and the Hub; and the policies that come with operant."""

from __future__ import annotations

import shlex
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import torch
import yaml
from command_line import python
from fake_hub import fake_hub
from own_lines import SMALL

import operant
from operant.algorithms import DQN, DQNConfig, Field
from operant.shared.errors import CheckpointError
from operant.trainer.experiment.sharing import policy_folder, zoo

pytestmark = pytest.mark.slow

SETTINGS = {**SMALL, "ppo": {"num_minibatches": 1}}
OBS = np.random.default_rng(1).normal(size=(16, 4)).astype(np.float32)


@pytest.fixture
def run(cart_pole_run):
    return cart_pole_run


def test_a_pushed_policy_acts_as_before_once_it_is_pulled(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=3)
    pulled = operant.pull(tmp_path / "policy", name="theirs")
    assert operant.load(pulled).act(OBS).tolist() == operant.load(run).act(OBS).tolist()
    assert (
        operant.load(tmp_path / "policy").act(OBS).tolist() == operant.load(run).act(OBS).tolist()
    )
    assert "theirs" in pulled.id
    assert pulled.status().state == "finished"
    assert f"pulled from {tmp_path / 'policy'}" in pulled.status().message
    assert operant.evaluate(pulled, 2).num_episodes == 2


def test_the_card_tells_the_return_and_the_seeds(run, tmp_path):
    operant.train("cart_pole", total_env_steps=64, seed=7, **SETTINGS)
    operant.train("cart_pole", total_env_steps=128, seed=8, **SETTINGS)  # another configuration
    operant.push(run, tmp_path / "policy", num_episodes=3)
    front, _, card = (tmp_path / "policy" / "README.md").read_text()[4:].partition("\n---\n")
    facts = yaml.safe_load(front)
    assert facts["library_name"] == "operant"
    assert {"reinforcement-learning", "cart_pole", "ppo"} <= {*facts["tags"]}
    (metric,) = facts["model-index"][0]["results"][0]["metrics"]
    assert metric["type"] == "mean_reward"
    assert f"| return | {metric['value']} over 3 greedy episodes |" in card
    assert "over the 2 seeds 1, 7" in card
    assert "operant pull policy\n" in card
    assert str(tmp_path) not in front + card


@pytest.mark.parametrize("step", ["write_checkpoint", "list_checkpoints"])
def test_where_a_push_was_killed_the_next_one_ends_it(run, tmp_path, monkeypatch, step):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(policy_folder, step, die)
        with pytest.raises(KeyboardInterrupt):
            operant.push(run, tmp_path / "policy", num_episodes=1)
    (tmp_path / "policy" / ".building-7-run.toml").touch()
    operant.push(run, tmp_path / "policy", num_episodes=1)
    assert (
        operant.load(tmp_path / "policy").act(OBS).tolist() == operant.load(run).act(OBS).tolist()
    )


def test_only_the_policy_and_its_settings_are_pushed(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    folder = tmp_path / "policy"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {"README.md", "run.toml", "checkpoints/iteration-000000001.pt"}
    saved = torch.load(next(folder.rglob("*.pt")), weights_only=True)
    assert set(saved["state"]) == {"policy"}
    manifest = (folder / "run.toml").read_text()
    assert "working_folder" not in manifest
    assert "command_line" not in manifest


def test_secrets_are_in_no_file_of_a_shared_policy(tmp_path):
    class Keyed(DQNConfig):
        api_key: str = Field("", description="of a service")

    class Asks(DQN):
        section_class = Keyed

    run = operant.train(
        "cart_pole", algorithm=Asks, total_env_steps=128, **SMALL,
        **{"dqn.api_key": "hunter2hunter2", "recorder.alerts": ["loss/value > 1000000"]},
    )  # fmt: skip
    operant.push(run, tmp_path / "policy", num_episodes=1)
    for path in (tmp_path / "policy").rglob("*"):
        assert path.is_dir() or b"hunter2hunter2" not in path.read_bytes()
        assert path.is_dir() or b"1000000" not in path.read_bytes()


def test_a_card_says_which_code_of_a_script_the_policy_needs(tmp_path, line):
    run = operant.train(line, total_env_steps=64, **SMALL)
    operant.push(run, tmp_path / "policy", num_episodes=1)
    card = (tmp_path / "policy" / "README.md").read_text()
    assert "which a script of its author defines: define it too, and pass it to `operant.l" in card


def test_code_that_is_pushed_comes_with_the_policy_and_a_later_push_takes_it_away(
    tmp_path, monkeypatch
):
    project, reader = tmp_path / "project", tmp_path / "reader"
    project.mkdir()
    reader.mkdir()
    source = (Path(__file__).parents[1] / "support" / "hosted_envs.py").read_text()
    (project / "counts_to_share.py").write_text(source)
    monkeypatch.chdir(project)
    run = operant.train("gymnasium:counts_to_share:make_count", total_env_steps=64, **SMALL)
    operant.push(run, tmp_path / "policy", num_episodes=1, with_code=True)
    assert "begins in `code/counts_to_share.py`" in (tmp_path / "policy" / "README.md").read_text()
    pulled = operant.pull(tmp_path / "policy")
    assert (pulled.folder / "code" / "counts_to_share.py").read_text() == source
    operant.push(run, tmp_path / "policy", num_episodes=1)
    assert not (tmp_path / "policy" / "code").exists()
    assert "ask its author for it" in (tmp_path / "policy" / "README.md").read_text()
    monkeypatch.chdir(reader)
    monkeypatch.delitem(sys.modules, "counts_to_share")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(project)])
    with pytest.raises(
        operant.errors.ConfigError, match=r"it came with the policy: read .*counts_to_share"
    ):
        operant.load(pulled)
    with pytest.raises(
        operant.errors.ConfigError, match=r"ask the author .* for counts_to_share\.py"
    ):
        operant.load(tmp_path / "policy")


def test_a_card_has_the_name_of_any_folder_as_shells_and_python_have_it(run, tmp_path):
    operant.push(run, tmp_path / "my 'best' policy", num_episodes=1)
    card = (tmp_path / "my 'best' policy" / "README.md").read_text()
    shell = next(line for line in card.splitlines() if line.startswith("operant pull "))
    assert shlex.split(shell)[2] == "my 'best' policy"
    assert """operant.pull("my 'best' policy")""" in card


def test_others_can_read_a_shared_policy(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    for path in (tmp_path / "policy").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_episodes": 0}, "num_episodes = 0: expected a whole number"),
        ({"target": ""}, "'': expected a folder, or hf:OWNER/NAME"),
        ({"target": None}, "target = None: expected a folder, or hf:OWNER/NAME"),
    ],
)
def test_wrong_arguments_are_one_line(run, tmp_path, arguments, words):
    with pytest.raises(operant.UsageError, match=words):
        operant.push(run, **{"target": tmp_path / "policy", **arguments})
    with pytest.raises(operant.UsageError, match="source = 5: expected a folder"):
        operant.pull(5)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("README.md", "README.md is a link: remove it"),
        ("checkpoints", "checkpoints is a link: remove it"),
        ("run.toml", "has other files in it"),  # a linked run.toml is none
    ],
)
def test_a_policy_is_not_written_to_where_links_point(run, tmp_path, name, said):
    folder, outside = tmp_path / "policy", tmp_path / "outside"
    operant.push(run, folder, num_episodes=1)
    (folder / name).rename(outside)
    (folder / name).symlink_to(outside)
    before = [path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    with pytest.raises(operant.UsageError, match=said):
        operant.push(run, folder, num_episodes=1)
    after = [path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert after == before


def test_a_policy_is_replaced_and_other_files_are_not(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    operant.push(run, tmp_path / "policy", num_episodes=2)
    assert "over 2 greedy" in (tmp_path / "policy" / "README.md").read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(operant.UsageError, match="has other files in it"):
        operant.push(run, tmp_path / "other")
    (tmp_path / "project" / "checkpoints").mkdir(parents=True)
    (tmp_path / "project" / "README.md").write_text("mine")
    kept = tmp_path / "project" / "checkpoints" / "iteration-000000500.pt"
    kept.touch()
    with pytest.raises(operant.UsageError, match="has other files in it"):
        operant.push(run, tmp_path / "project")
    assert (tmp_path / "project" / "README.md").read_text() == "mine"
    assert kept.exists()
    with pytest.raises(operant.UsageError, match="is the run's own folder"):
        operant.push(run, run.folder)
    with pytest.raises(operant.UsageError, match="is a file"):
        operant.push(run, tmp_path / "other" / "thesis.tex")


def test_a_name_that_may_be_of_the_hub_makes_no_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        operant.UsageError, match=r"no folder me; hf:me/x is .* \./me/x a new folder"
    ):
        operant.push(run, "me/x", num_episodes=1)
    assert not (tmp_path / "me").exists()
    with pytest.raises(operant.UsageError, match="is no folder; a policy of the Hub is hf:me/x"):
        operant.pull("me/x")
    operant.push(run, "./me/x", num_episodes=1)
    operant.push(run, "me/y", num_episodes=1)  # there is a folder by now
    operant.push(run, Path("you/x"), num_episodes=1)
    found = {str(card.parent.relative_to(tmp_path)) for card in tmp_path.glob("*/*/README.md")}
    assert found == {"me/x", "me/y", "you/x"}


def test_what_has_no_policy_is_not_pulled(run, tmp_path):
    for source, text in (
        (tmp_path / "nowhere", "is no folder"),
        (tmp_path, "has no policy of operant's"),
        ("hf:a", "expected hf:OWNER/NAME"),
        ("hf:../..", "expected hf:OWNER/NAME"),
    ):
        with pytest.raises(operant.OperantError, match=text):
            operant.pull(source)
    operant.push(run, tmp_path / "policy", num_episodes=1)
    next((tmp_path / "policy").rglob("*.pt")).write_bytes(b"no checkpoint")
    before = len(operant.runs())
    with pytest.raises(operant.OperantError, match="cannot be read"):
        operant.pull(tmp_path / "policy")
    assert len(operant.runs()) == before


def test_a_policy_that_is_too_large_is_not_read(run, tmp_path, monkeypatch):
    """Nor is one that would be too large in memory: parts of a checkpoint may be compressed."""
    operant.push(run, tmp_path / "policy", num_episodes=1)
    path = next((tmp_path / "policy").rglob("*.pt"))
    packed = tmp_path / "packed"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part, old.read(part))
        new.writestr("more", bytes(1 << 20))
    packed.replace(path)
    assert path.stat().st_size < 1 << 20
    before = len(operant.runs())
    with monkeypatch.context() as patched:
        patched.setattr(policy_folder, "MAX_BYTES", 1 << 20)
        with pytest.raises(operant.UsageError, match=r"policy has 0\.0 GiB; a policy of at most"):
            operant.pull(tmp_path / "policy")
    with path.open("ab") as file:
        file.truncate(2 << 30)  # sparse
    with pytest.raises(operant.UsageError, match=r"policy has 2\.0 GiB; a policy of at most"):
        operant.pull(tmp_path / "policy")
    assert len(operant.runs()) == before


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"iteration": 10**400}, r"iteration = 10+\.\.\.0+: expected a whole number, 0 to"),
        ({"iteration": -3}, "iteration = -3: expected a whole number"),
        ({"env_steps": True}, "env_steps = True: expected a whole number"),
        ({"publish": 1 << 63}, "publish = 9223372036854775808: expected a whole number"),
        ({"config": {}}, "its config names no env"),
        ({"config": {"env": 5}}, "its config names no env"),
        ({"config": {"env": "cart_pole", "seed": 10**400}}, "a whole number of more than"),
        ({"state": 3}, "state is no table"),
    ],
)
def test_a_checkpoint_with_other_types_is_refused_in_one_line(run, tmp_path, changed, said):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    path = next((tmp_path / "policy").rglob("*.pt"))
    torch.save({**torch.load(path, weights_only=True), **changed}, path)
    for call in (operant.pull, operant.load):
        with pytest.raises(CheckpointError, match=said):
            call(tmp_path / "policy")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "'': expected a folder, or hf:OWNER/NAME"),
        ("a\0b", "expected a folder, or hf:OWNER/NAME"),
        ("file/below", "Not a directory|is no folder"),
        ("loop", "File exists|is no folder"),
        ("/proc/nowhere", "No such file or directory|is no folder"),
    ],
)
def test_places_that_cannot_be_are_one_line(run, tmp_path, monkeypatch, place, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for call in (lambda: operant.push(run, place, num_episodes=1), lambda: operant.pull(place)):
        with pytest.raises(operant.UsageError, match=said) as raised:
            call()
        assert len(str(raised.value)) < 400


def test_a_pulled_policy_runs_no_code(run, tmp_path, monkeypatch):
    """Its author's environment is a module that happens to lie in the reader's folder."""
    operant.push(run, tmp_path / "policy", num_episodes=1)
    path = next((tmp_path / "policy").rglob("*.pt"))
    saved = torch.load(path, weights_only=True)
    saved["config"]["env"] = "gymnasium:planted:Env"
    torch.save(saved, path)
    (tmp_path / "planted.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    pulled = operant.pull("policy")
    with pytest.raises(operant.UsageError, match=r"planted.*--trust-code"):
        operant.load(pulled)
    with pytest.raises(operant.UsageError, match=r"planted.*--trust-code"):
        operant.push(pulled, "again")
    assert not (tmp_path / "ran").exists()


def test_a_pulled_policy_has_no_history(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    with pytest.raises(
        operant.errors.PageError, match="was pulled: it has a policy, and no page or rows"
    ):
        operant.pull(tmp_path / "policy").history()


def test_a_terminal_obeys_nothing_that_a_pulled_policy_says(run, tmp_path, capsys):
    """Neither its errors and warnings, nor its card, nor the card of one who shares it again."""
    escapes = "\x1b[31m\x07\u202e|"
    operant.push(run, tmp_path / "policy", num_episodes=1)
    path = next((tmp_path / "policy").rglob("*.pt"))
    saved = torch.load(path, weights_only=True)
    manifest = tomllib.loads((tmp_path / "policy" / "run.toml").read_text())
    manifest["versions"] = {f"torch{escapes}": f"2{escapes}\n2"}
    (tmp_path / "policy" / "run.toml").write_text(tomli_w.dumps(manifest))
    (tmp_path / "policy" / "README.md").write_text(f"# A card\n{escapes}\n")
    pulled = operant.pull(tmp_path / "policy", name=f"theirs{escapes}")
    operant.push(pulled, tmp_path / "again", num_episodes=1)
    for folder in (pulled.folder, tmp_path / "again"):
        card = (folder / "README.md").read_text()
        assert card.startswith(("# A card", "---"))
        assert all(line.isprintable() for line in card.splitlines())
    assert r"| versions | torch [31m \| 2 [31m \| 2 |" in card
    assert capsys.readouterr().err.replace("\n", "").isprintable()
    for key in ("env", "algorithm", "policy", f"new{escapes}"):
        torch.save({**saved, "config": {**saved["config"], key: escapes}}, path)
        with pytest.raises(operant.OperantError) as raised:
            operant.load(operant.pull(tmp_path / "policy"))
        assert str(raised.value).isprintable()


def test_a_pulled_policy_cannot_be_trained_on(run, tmp_path):
    operant.push(run, tmp_path / "policy", num_episodes=1)
    with pytest.raises(operant.OperantError, match="pulled"):
        operant.train(resume=operant.pull(tmp_path / "policy"))


def test_the_hub_keeps_what_was_pushed_last(run, tmp_path, monkeypatch):
    """In a process of its own: huggingface_hub reads its endpoint when it is imported."""
    script = f"""
import operant, numpy
run = operant.load({run.id!r}).run
operant.push(run, "hf:me/cart-pole", num_episodes=1)
operant.push(run, "hf:me/cart-pole", num_episodes=2)
pulled = operant.pull("hf:me/cart-pole")
obs = numpy.ones((3, 4), numpy.float32)
assert (operant.load(pulled).act(obs) == operant.load(run).act(obs)).all()
assert "cart-pole" in pulled.id and pulled.status().message == "pulled from hf:me/cart-pole"
for call in (
    lambda: operant.pull("hf:me/nothing"),
    lambda: operant.push(run, "hf:me/other"),
    lambda: operant.push(run, "hf:me/cart-pole", private=True),
):
    try:
        call()
    except operant.OperantError as error:
        print(error)
"""
    with fake_hub() as hub:
        hub.repositories["me/other"] = {"README.md": b"mine", "model.safetensors": b"mine"}
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", "hf_test")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        ran = python("-c", script)
        assert ran.returncode == 0, ran.stderr
        nothing, other, public = ran.stdout.splitlines()
        assert "hf:me/nothing: no such repository" in nothing
        assert "hf:me/other has other files in it (model.safetensors)" in other
        assert "hf:me/cart-pole is there already and public" in public
        assert hub.repositories["me/other"]["README.md"] == b"mine"
        files = hub.repositories["me/cart-pole"]
    assert set(files) == {"README.md", "run.toml", "checkpoints/iteration-000000001.pt"}
    assert b"operant pull hf:me/cart-pole" in files["README.md"]
    assert b"over 2 greedy episodes" in files["README.md"]


def test_files_of_the_hub_that_are_too_large_are_not_fetched(tmp_path, monkeypatch):
    script = """
import operant
for name in ("large", "other"):
    try:
        operant.pull(f"hf:me/{name}")
    except operant.OperantError as error:
        print(error)
"""
    weights = "checkpoints/iteration-000000007.pt"
    with fake_hub() as hub:
        files = {"run.toml": b"", weights: b"x", "checkpoints/iteration-000000001.pt": b"old"}
        hub.repositories = {"me/large": files, "me/other": {**files, "README.md": b"card"}}
        hub.listed_sizes = {
            weights: 3 << 30,
            "README.md": 5,
            "checkpoints/iteration-000000001.pt": 9 << 30,
        }
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        large = python("-c", script).stdout.splitlines()[0]
        assert weights not in "".join(hub.fetched)
        hub.listed_sizes[weights] = 1
        _, other = python("-c", script).stdout.splitlines()
        assert "checkpoints/iteration-000000001.pt" not in "".join(hub.fetched)
    assert large == "hf:me/large has 3.0 GiB; a policy of at most 1 GiB can be pulled"
    assert other == "hf:me/other: README.md has 4 bytes, and the Hub lists 5"


def test_a_hub_that_cannot_be_reached_is_one_line(run, tmp_path, monkeypatch):
    script = f"""
import operant
for call in (lambda: operant.pull("hf:me/x"), lambda: operant.push({run.id!r}, "hf:me/x")):
    try:
        call()
    except operant.OperantError as error:
        print(error)
"""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    ran = python("-c", script)
    assert ran.stdout.count("hf:me/x: ") == 2, ran.stderr
    assert len(ran.stdout.splitlines()) == 2


@pytest.mark.parametrize("env", sorted(path.name for path in zoo.FOLDER.iterdir()))
def test_every_shipped_policy_is_as_good_as_its_card_says(env):
    policy = operant.load(f"zoo:{env}")
    assert policy.env == env
    said = policy.run._run.manifest()["summary"]
    returns = operant.evaluate(policy, said["episodes"]).returns
    assert returns.mean() == pytest.approx(said["return_mean"], rel=0.02)


def test_an_environment_without_a_shipped_policy_lists_those_there_are():
    with pytest.raises(operant.UsageError, match="no trained policy for Nope; there are: acrobot"):
        operant.load("zoo:Nope")
    with pytest.raises(operant.UsageError, match="for CartPole-v1; did you mean 'cart_pole'"):
        operant.load("zoo:CartPole-v1")
