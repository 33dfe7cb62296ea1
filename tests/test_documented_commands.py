"""Commands that the documents tell can be typed: their options, presets and targets are there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from operant.cli import cli
from operant.trainer.config.files import is_env_name, preset_names
from operant.trainer.envs.spaces import full_name

ROOT = Path(__file__).parents[1]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# Behind two blanks, or a #, stands what a line does; behind a |, another program, and a file
# behind a >.
COMMENT = re.compile(r" {2,}| # | \| source| > ")
PLACEHOLDERS = {"NAME": "cart_pole_ppo", "PYTHON": sys.executable}

# Has each program parse what it is given, and go no further.
PARSING = """
import argparse, json, os, runpy, sys

class Parsed(BaseException): ...

parse_args = argparse.ArgumentParser.parse_args

def parse_and_leave(*arguments):
    parse_args(*arguments)
    raise Parsed

argparse.ArgumentParser.parse_args = parse_and_leave
wrong = []
for line in json.loads(sys.argv[1]):
    sys.argv = line
    sys.path.insert(0, os.path.dirname(line[0]))
    try:
        runpy.run_path(line[0], run_name="__main__")
        wrong.append(f"{line}: parses nothing")
    except Parsed:
        pass
    except BaseException as error:
        wrong.append(f"{line}: {error!r}")
    finally:
        del sys.path[0]
print(json.dumps(wrong))
"""


def in_blocks(program: str) -> list[str]:
    """Lines of code blocks that begin with a program, without it."""
    blocks = [block for path in TEXTS for block in BLOCK.findall(path.read_text())]
    return _told(blocks, rf"^{program} +(.*)$")


def in_text(program: str) -> list[str]:
    """The texts set as code between other words."""
    return _told([BLOCK.sub("", path.read_text()) for path in TEXTS], rf"`{program}\s+([^`]*)`")


def _told(texts: list[str], pattern: str) -> list[str]:
    whole = [text.replace("\\\n", " ") for text in texts]
    lines = [line for text in whole for line in re.findall(pattern, text, re.MULTILINE)]
    return sorted({COMMENT.split(re.sub(r"\s*\n\s*", " ", line))[0].strip() for line in lines})


def is_form(line: str) -> bool:
    """It has places to fill in."""
    return bool(re.search(r"\[|\||\.\.\.|\b[A-Z]{2,}\b", line))


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The innermost command, and what it is given."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] != "--help":
        name, *rest = words[0].partition("|")[0], *words[1:]
        found = command.get_command(click.Context(command), name)
        assert found, f"there is no {name}"
        command, words = found, rest
    return command, words


@pytest.mark.parametrize("line", [*in_blocks("operant"), *in_text("operant")])
def test_every_option_that_is_told_is_there(line):
    # Behind `--` stands the command that is captured, with options of its own.
    own = line.partition(" -- ")[0]
    command, words = command_of(re.sub(r"[\[\]]", " ", own).split())
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= {*options, "--help"}


@pytest.mark.parametrize("line", [line for line in in_blocks("operant") if not is_form(line)])
def test_examples_are_understood(line):
    command, words = command_of(shlex.split(line))
    with command.make_context("operant", words) as context:
        config = context.params.get("config")
    for name in [config] if isinstance(config, str) else config or []:
        is_known = is_env_name(full_name(name)) or name.partition("+")[0] in preset_names()
        assert is_known or name.endswith(".toml")


def test_programs_take_what_the_documents_give_them():
    lines = [shlex.split(line) for line in in_text("python")]
    lines = [[PLACEHOLDERS.get(word, word) for word in line if word != "..."] for line in lines]
    lines = [line for line in lines if line[0].startswith(("benchmarks/", "tools/"))]
    assert len(lines) > 12
    done = subprocess.run(
        [sys.executable, "-c", PARSING, json.dumps(lines)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_targets_of_make_are_there():
    targets = {line.split()[0] for line in [*in_blocks("make"), *in_text("make")]}
    makefile = (ROOT / "Makefile").read_text()
    assert {"train", "soak"} <= targets <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
