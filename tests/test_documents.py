"""Documents lead to files that are there, and every folder says what lives in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from operant.cli import cli
from operant.trainer.config.from_values import fields_with_defaults

ROOT = Path(__file__).parents[1]
SIDES = ("api", "commands", "configs", "monitor", "shared", "trainer")
FOLDERS = (*SIDES, "benchmarks", "docs", "examples", "tests", "tools")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [path for side in SIDES for path in sorted((ROOT / side).rglob("*.py"))]
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
# In `text`: paths from the root, as `trainer/running/loop.py`; NAME and <name> are anyone's.
PATHS = re.compile(rf"\b((?:{'|'.join(FOLDERS)})/[\w./<>-]*\w)")


def paths_in(text: str) -> Iterator[str]:
    for quoted in re.findall(r"`([^`\n]+)`", text):
        yield from (path for path in PATHS.findall(quoted) if not re.search("NAME|<", path))


def test_every_path_that_is_named_is_there():
    gone = [
        f"{document.relative_to(ROOT)} names {path}"
        for document in (*DOCUMENTS, *SOURCES)
        for path in paths_in(document.read_text())
        if not (ROOT / path).exists()
    ]
    assert gone == []


@pytest.mark.parametrize(
    "document", [*DOCUMENTS, ROOT / "examples/README.md"], ids=lambda path: path.name
)
def test_every_link_leads_somewhere(document):
    for target, _, heading in re.findall(r"\]\(([^)#\s:]*)(#([^)\s]+))?\)", document.read_text()):
        place = document.parent / target if target else document
        assert place.exists(), target
        if heading:
            assert heading in anchors(place), f"{target}#{heading}"


def anchors(document: Path) -> set[str]:
    """Headings as links name them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_lists_are_lists_on_github_and_on_the_website(document):
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ {1,3}- .*", text, re.MULTILINE) == [], "indent by four spaces"
    assert re.findall(r"^\w.*\n- .*", text, re.MULTILINE) == [], "leave a line empty before a list"


# Names of other programs and libraries, examples that anyone may choose, and names that are put
# together at run time.
FOREIGN = {
    # Stable-Baselines3, Gymnasium, CleanRL and their loggers
    "ActionMasker", "CheckpointCallback", "CnnPolicy", "DummyVecEnv", "EvalCallback", "MaskablePPO",
    "MultiInputPolicy", "MyEnv", "NEXT_STEP", "VecFrameStack",
    "make_atari_env",
    "NormalizeObservation", "RescaleAction", "SubprocVecEnv", "VecEnv", "VecNormalize",
    "VecVideoRecorder", "gymnasium.make",
    "gymnasium.wrappers", "gymnasium.wrappers.RescaleAction", "log_interval", "my_file",
    "package_to_hub", "push_to_hub",
    "report_to", "--capture-video", "--save-model", "--track",
    # systems and other commands
    "ControlMaster", "F_OFD_GETLK", "F_OFD_SETLK", "LD_LIBRARY_PATH",
    "OMP_WAIT_POLICY", "--max-restarts", "--node-rank", "--shm-size", "--snapshot-update",
    # classes that examples define, and files
    "SmoothDQN", "CHANGELOG",
    # OPERANT_EVENT_ is followed by a field, lunar_lander by a variant
    "OPERANT_EVENT_KIND", "OPERANT_EVENT_TEXT", "lunar_lander_continuous",
}  # fmt: skip
FILE_ENDINGS = ("csv", "gz", "json", "jsonl", "log", "md", "npz", "onnx", "parquet", "pt", "py",
                "gif", "sqlite", "svg", "toml", "zip")  # fmt: skip
OURS = [
    *ROOT.glob("*.py"),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
]


def docstrings(tree: ast.AST) -> Iterator[Any]:
    """The constants that are the docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            yield node.body[0].value


@cache
def words() -> set[str]:
    """All names of the code, its files and its configuration, and the words of its texts."""
    found = {path.stem for path in OURS}
    for path in OURS:
        tree = ast.parse(path.read_text())
        documentation = set(map(id, docstrings(tree)))
        for node in ast.walk(tree):
            for field in ("id", "attr", "name", "arg", "asname", "module"):
                if isinstance(name := getattr(node, field, None), str):
                    found.update(name.split("."))
            if isinstance(node, ast.Constant) and id(node) not in documentation:
                found.update(re.findall(r"--[a-z][\w-]*|\w+", str(node.value)))
    configuration = [*ROOT.glob("configs/**/*.toml"), ROOT / "pyproject.toml", ROOT / "Makefile"]
    for path in configuration:
        found.update([path.stem, *re.findall(r"\w+", path.read_text())])
    return found | FOREIGN


def quoted(document: Path) -> set[str]:
    """The texts set as code between other words."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`\n]+)`", text.partition("<!-- from here on written by")[0]))


def looks_like_code(name: str) -> bool:
    is_constant = name.isupper() and len(name) > 3
    return is_constant or "_" in name.strip("_") or bool(re.search("[a-z][A-Z]", name))


def unknown_names(text: str) -> Iterator[str]:
    """Functions, classes, constants and settings that are nowhere in the code."""
    for dotted, is_called in re.findall(r"(?<![\w/.-])([A-Za-z_][\w.]*\w)(\()?", text):
        for name in dotted.split("."):
            if (is_called or looks_like_code(name)) and name not in words():
                yield name


def unknown_keys(text: str, keys: set[str]) -> Iterator[str]:
    """`table.key` where there is such a table of the configuration, and no such key."""
    tables = {key.partition(".")[0] for key in keys if "." in key}
    for key in re.findall(r"(?<![\w./\[])([a-z_0-9]+(?:\.[a-z_0-9]+)+)(?![\w(/.])", text):
        is_file = key.rpartition(".")[2] in FILE_ENDINGS
        is_table = any(known.startswith(f"{key}.") for known in keys)
        if key.partition(".")[0] in tables and not (
            is_table or is_file or key in {*keys, *FOREIGN}
        ):
            yield key


def unknown_options(text: str, options: set[str]) -> Iterator[str]:
    for option in re.findall(r"(?<!\S)--[a-z][\w-]*", text):
        if option not in options and option not in words():
            yield option


@cache
def known_keys() -> frozenset[str]:
    return frozenset(key for key, _, _ in fields_with_defaults())


@cache
def known_options() -> frozenset[str]:
    """The options of all commands; those of benchmarks/ are among the words."""

    def commands_of(command: click.Command) -> Iterator[click.Command]:
        yield command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from commands_of(command.get_command(context, name))

    return frozenset(
        option
        for command in commands_of(cli)
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_name_that_is_quoted_is_in_the_code(document):
    if document.name == "upgrading.md":  # which has names of the version before
        return
    wrong = [
        f"{name} in `{text}`"
        for text in quoted(document)
        for name in (
            *unknown_names(text),
            *unknown_keys(text, known_keys()),
            *unknown_options(text, known_options()),
        )
    ]
    assert sorted(wrong) == []


def test_names_that_are_nowhere_are_found():
    assert list(unknown_names("`place_" + "panes`")) == ["place_" + "panes"]
    assert list(unknown_names("Pla" + "ces.look" + "Up()")) == ["Pla" + "ces", "look" + "Up"]
    assert list(unknown_keys("ppo.learn_rate", {"ppo.learning_rate"})) == ["ppo.learn_rate"]
    assert list(unknown_options("--every" + "-day", {"--every"})) == ["--every" + "-day"]


def test_no_exception_is_left_that_nothing_needs():
    documented = "\n".join(text for document in DOCUMENTS for text in quoted(document))
    assert [name for name in FOREIGN if name not in documented] == []


# A docstring that begins with one of these needs its neighbour to be understood.
LEANING_WORDS = {"Of", "As", "What", "Those", "Likewise"}


def leaning_docstrings(source: str) -> list[str]:
    """`line: first line of the docstring` where its first word is one of LEANING_WORDS."""
    return [
        f"{docstring.lineno}: {docstring.value.splitlines()[0]}"
        for docstring in docstrings(ast.parse(source))
        if re.split(r"\W", docstring.value)[0] in LEANING_WORDS
    ]


def test_no_docstring_needs_its_neighbour_to_be_understood():
    leaning = [
        f"{path}:{docstring}"
        for path in (source.relative_to(ROOT).as_posix() for source in OURS)
        for docstring in leaning_docstrings((ROOT / path).read_text())
    ]
    assert leaning == []


def test_a_docstring_that_leans_is_named_with_its_line():
    source = """class Mass:
        'Of one environment.'
        async def step(self):
            'What moves it.'
        def reset(self):
            'Offsets of the start; as it is.'
    """
    assert leaning_docstrings(source) == ["2: Of one environment.", "4: What moves it."]


def test_every_folder_says_what_lives_there():
    silent = [path for path in PACKAGES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_room_of_the_trainer_is_described():
    documented = (ROOT / "docs" / "trainer.md").read_text()
    rooms = [path.parent.name + "/" for path in (ROOT / "trainer").glob("*/__init__.py")]
    files = [path.name for path in (ROOT / "trainer").glob("*.py") if path.name != "__init__.py"]
    assert [room for room in (*rooms, *files) if f"`{room}`" not in documented] == []


def test_every_room_of_the_monitor_is_described():
    documented = (ROOT / "docs" / "changing.md").read_text()
    rooms = [path.parent.name for path in (ROOT / "monitor").glob("*/__init__.py")]
    assert [room for room in rooms if f"`monitor/{room}/`" not in documented] == []
