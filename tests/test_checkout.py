"""A checkout may lie anywhere, under any name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_tests_run_in_a_folder_whose_name_is_none_in_python(tmp_path):
    checkout = tmp_path / "operant-main"
    # `conftest.py` imports modules of it.
    shutil.copytree(REPOSITORY / "tests/support", checkout / "tests/support")
    for name in ("__init__.py", "pyproject.toml", "tests/conftest.py"):
        shutil.copy(REPOSITORY / name, checkout / name)
    (checkout / "tests/test_one.py").write_text(
        "import sys\n"
        "def test_the_checkout_is_not_imported_under_its_own_name():\n"
        "    assert not {'__init__', 'operant-main'} & set(sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest"], cwd=checkout, capture_output=True, text=True, timeout=300
    )
    assert "1 passed" in ran.stdout, ran.stdout
