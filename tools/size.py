"""How big the project is: lines of code by folder, held to the ceilings of pyproject.toml.

    python tools/size.py [COMMIT]

A line of code is one with a token other than a comment; docstrings and blank lines do not count.
Every tracked file counts, so that code which moves into C, style sheets or TOML stays in the sum;
binary data counts in kilobytes. Prints the change since COMMIT where one is given. Exits with 1
where a total is over its ceiling in [tool.operant.size]: raising a ceiling is a line of a change.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
OTHER_CODE = {".c", ".h", ".tcss", ".css", ".js", ".html", ".toml", ".sh", ""}
DOCUMENTS = {".md", ".svg", ".csv"}
APART = ("tests", "benchmarks", "examples", "docs", "zoo")  # the product is all else


def code_lines(text: str) -> int:
    """Lines of Python that hold a token; docstrings are left out."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        may_have_one = isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if may_have_one and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def contents(commit: str) -> dict[str, bytes]:
    """Every tracked file of a commit; of the working tree where `commit` is empty."""
    if not commit:
        paths = [x for x in git("ls-files", "-z").decode().split("\0") if (ROOT / x).is_file()]
        return {path: (ROOT / path).read_bytes() for path in paths}
    paths = git("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
    return {path: git("show", f"{commit}:{path}") for path in paths if path}


def sizes(files: dict[str, bytes]) -> dict[str, Counter[str]]:
    """Python, other code and data by folder: `tests`, `trainer/envs`, and the sums of APART.

    Tools count as tests.
    """
    found: dict[str, Counter[str]] = {}
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.suffix in DOCUMENTS or path.parts[0] == "docs":
            continue
        if path.suffix == ".py":
            kind, amount = "python", code_lines(content.decode())
        elif path.suffix in OTHER_CODE and b"\0" not in content:
            text = content.decode().splitlines()
            kind, amount = "other", sum(bool(x.strip()) for x in text)
        else:
            kind, amount = "kB", -(-len(content) // 1000)
        side = path.parts[0] if len(path.parts) > 1 else "(top)"
        total = "tests" if side == "tools" else side if side in APART else "product"
        for folder in {total, side, "/".join(path.parts[:-1][:2]) or side}:
            found.setdefault(folder, Counter())[kind] += amount
            found[folder]["files"] += 1
    return found


def over_ceilings(now: dict[str, Counter[str]], ceilings: dict[str, int]) -> list[str]:
    """A line for each total that is over its ceiling."""
    return [
        f"{name} has {lines} lines of code; its ceiling is {ceiling}"
        for name, ceiling in ceilings.items()
        if (lines := now[name]["python"] + now[name]["other"]) > ceiling
    ]


def main(arguments: list[str]) -> int:
    now = sizes(contents(""))
    before = sizes(contents(arguments[0])) if arguments else None
    print(f"{'':28} files  Python   other      kB")
    for folder in sorted(now.keys() | (before or {}).keys()):
        row = now.get(folder, Counter())
        columns = f"{row['files']:5} {row['python']:7} {row['other']:7} {row['kB']:7}"
        old = before.get(folder, Counter()) if before else None
        change = f"  {row['python'] - old['python']:+d}" if old is not None else ""
        print(f"{folder:28} {columns}{change}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    over = over_ceilings(now, project["tool"]["operant"]["size"])
    for line in over:
        print(line)
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
