"""`operant completion`: completion of commands and arguments in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
    split_arg_string,
)

from ..shared.errors import UsageError
from .command import Command

# The environment variable by which a shell asks for completions.
VARIABLE = "_OPERANT_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

# click's own script splits words at = and :, which breaks `--set KEY=VALUE`, and appends a space to
# `KEY=`.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' type value line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:space:]]}" part="${COMP_WORDS[COMP_CWORD]}"
    [[ $part == [=:] ]] && part=""
    local known="${word%%"$part"}"
    COMPREPLY=()
    while IFS=',' read -r type value; do
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            [[ $value == *= ]] && compopt -o nospace
            COMPREPLY+=("${value#"$known"}")
        fi
    done < <(COMP_WORDS="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

# click's script, without the space behind `KEY=`.
_ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a plain described open response
    local type key text
    (( ! $+commands[%(prog_name)s] )) && return 1
    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
%(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    for type key text in ${response}; do
        if [[ "$type" == "dir" ]]; then
            _path_files -/
        elif [[ "$type" == "file" ]]; then
            _path_files -f
        elif [[ "$type" == "plain" && "$key" == *= ]]; then
            open+=("$key":"$text")
        elif [[ "$type" == "plain" && "$text" == "_" ]]; then
            plain+=("$key")
        elif [[ "$type" == "plain" ]]; then
            described+=("$key":"$text")
        fi
    done
    [ -n "$open" ] && _describe -V unsorted open -U -S ''
    [ -n "$described" ] && _describe -V unsorted described -U
    [ -n "$plain" ] && compadd -U -V unsorted -a plain
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef %(complete_func)s %(prog_name)s
fi
"""


class Bash(BashComplete):
    """Completes the line up to the cursor."""

    source_template = _BASH

    @staticmethod
    def _check_version() -> None:
        """Skip click's check, which starts a shell: old versions report an error at `complete`."""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])


class Zsh(ZshComplete):
    source_template = _ZSH


add_completion_class(Bash)
add_completion_class(Zsh)


@click.command("completion", cls=Command)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str | None) -> None:
    """Print the script that completes commands in your shell.

    It completes commands, runs, sweeps, presets, keys and themes. In ~/.bashrc or ~/.zshrc: eval
    "$(operant completion bash)", or zsh; in ~/.config/fish/config.fish: operant completion fish |
    source
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise UsageError(f"$SHELL is {shell or 'not set'}; name one: {', '.join(SHELLS)}")
    group = context.find_root().command
    asked = get_completion_class(shell)
    assert asked
    click.echo(asked(group, {}, "operant", VARIABLE).source(), nl=False)


def answer_shell(group: click.Command) -> int:
    """Print the completions of the line in the shell's environment; returns the exit code. Errors
    print nothing, because their text would appear within that line.
    """
    try:
        return shell_complete(group, {}, "operant", VARIABLE, os.environ[VARIABLE])
    except Exception:
        return 1
