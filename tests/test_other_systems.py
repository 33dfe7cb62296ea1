"""Where operant cannot run, it says so in one line."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_FCNTL = """
import importlib.util, sys
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "fcntl" else find_spec(name, *rest)
sys.modules["fcntl"] = None
{then}
"""
AS_A_LIBRARY = "import operant"
AS_THE_COMMAND = """
sys.argv = [r"C:\\\\Scripts\\\\operant.exe", "runs"]
from operant.cli import main
main()
"""


def without_fcntl(then: str) -> subprocess.CompletedProcess[str]:
    code = WITHOUT_FCNTL.format(then=then)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)


def test_on_windows_the_import_fails_with_a_line_that_names_wsl():
    done = without_fcntl(AS_A_LIBRARY)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: operant runs on Linux")
    assert "WSL" in done.stderr.splitlines()[-1]


def test_on_windows_the_command_is_one_line_that_names_wsl():
    done = without_fcntl(AS_THE_COMMAND)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("operant: operant runs on Linux")
    assert done.stderr.count("\n") == 1
    assert "WSL" in done.stderr
