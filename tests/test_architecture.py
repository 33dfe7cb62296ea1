"""The map holds: who may import whom, and what is installed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

ROOT = Path(__file__).parents[1]
SIDES = ("shared", "trainer", "monitor", "commands", "configs", "api")
MAY_IMPORT = {
    "shared": {"shared"},
    "trainer": {"trainer", "shared", "configs"},
    "monitor": {"monitor", "shared"},
    "commands": {"commands", "trainer", "monitor", "shared"},
    "api": {"api", "commands", "trainer", "monitor", "shared"},
    "configs": set(),
}
LIBRARIES_OF_SHARED = {"numpy", "platformdirs", "tomli_w"}
# The only files of shared that import a framework, each its own, and nobody imports them.
FRAMEWORKS = {
    "shared/integrations/huggingface.py": {"transformers"},
    "shared/integrations/lightning.py": {"lightning", "pytorch_lightning"},
    "shared/integrations/sb3.py": {"stable_baselines3"},
}
KEEP_FOREIGN_LOGS = ("monitor/imports/", "commands/capture.py")
# They check what comes from other machines; imported once a monitor watches one.
CHECK_MESSAGES = {"monitor/remote/mirror.py", "monitor/remote/mirrored_rows.py"}
FORBIDDEN = {
    "shared": {"torch", "textual", "numba", "pydantic"},
    "trainer": {"textual"},
    "monitor": {"torch", "numba", "pydantic"},
}


def source_files(side: str) -> list[Path]:
    return sorted((ROOT / side).rglob("*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    """Absolute names of all modules that `path` imports, ours as `operant.<side>...`."""
    package = ["operant", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0:
                yield node.module or ""
                continue
            base = package[: len(package) - node.level + 1]
            if node.module:
                yield ".".join([*base, node.module])
            else:
                yield from (".".join([*base, alias.name]) for alias in node.names)


CIRCLES_OF_TYPES = (
    {"operant.trainer.policies.draws", "operant.trainer.policies.draws_on_gpu"},
    {"operant.trainer.running.callbacks", "operant.trainer.running.saving"},
)


def test_no_files_import_one_another_in_a_circle():
    """Imports for types alone do not count. Which room may import which `make check` says."""
    graph = grimp.build_graph("operant", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def test_two_pairs_of_the_trainers_files_know_one_anothers_types():
    graph = grimp.build_graph("operant", cache_dir=None)
    modules = {module for module in graph.modules if module.startswith("operant.trainer.")}
    imports = {
        module: {
            other
            for other in modules & graph.find_modules_directly_imported_by(module)
            if {module, other} not in CIRCLES_OF_TYPES
        }
        for module in modules
    }
    TopologicalSorter(imports).prepare()


@pytest.mark.parametrize("side", SIDES)
def test_no_arrow_is_crossed(side):
    for path in source_files(side):
        for module in imported_modules(path):
            if module.startswith("operant."):
                other = module.split(".")[1]
                assert other in MAY_IMPORT[side], f"{path.relative_to(ROOT)} imports {module}"


@pytest.mark.parametrize("side", FORBIDDEN)
def test_each_side_leaves_the_others_libraries_alone(side):
    for path in source_files(side):
        names = {module.split(".")[0] for module in imported_modules(path)}
        if str(path.relative_to(ROOT)) in CHECK_MESSAGES:
            names.discard("pydantic")
        assert not names & FORBIDDEN[side], path.relative_to(ROOT)


def test_shared_needs_little():
    for path in source_files("shared"):
        names = {module.split(".")[0] for module in imported_modules(path)} - {"operant"}
        allowed = LIBRARIES_OF_SHARED | FRAMEWORKS.get(str(path.relative_to(ROOT)), set())
        assert names <= set(sys.stdlib_module_names) | allowed, path.relative_to(ROOT)


def test_nothing_needs_the_integrations():
    """They use the rest of shared; the package's root leads to them, lazily, and so do the commands
    that keep what other libraries log.
    """
    for side in SIDES:
        for path in source_files(side):
            place = str(path.relative_to(ROOT))
            is_integration = place.startswith(("shared/integrations/", *KEEP_FOREIGN_LOGS))
            for module in imported_modules(path):
                if module.startswith("operant.shared.integrations"):
                    assert is_integration, f"{path.relative_to(ROOT)} imports {module}"
                    place = f"{module.removeprefix('operant.').replace('.', '/')}.py"
                    assert place not in FRAMEWORKS, f"{path.relative_to(ROOT)} imports {module}"


def test_the_recorder_draws_nothing():
    for path in source_files("monitor/recorder"):
        names = {module.split(".")[0] for module in imported_modules(path)}
        assert not names & {"textual", "rich"}, path.relative_to(ROOT)


def test_a_recorder_imports_numpy_and_what_it_was_asked_for_and_nothing_heavy():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"a": 1.0})
    session.close("finished", 0)
    code = (
        "import sys\nfrom operant.cli import main\n"
        f"sys.argv = ['operant', 'record', {run.id!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print(*sorted({module.split('.')[0] for module in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert run.rows_path.exists()
    heavy = {"torch", "textual", "rich", "numba", "pandas", "pydantic"}
    sinks = {"tensorboard", "wandb", "prometheus_client"}
    assert not set(done.stdout.split()) & (heavy | sinks)


def test_every_package_is_named_in_pyproject():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = set(settings["tool"]["setuptools"]["packages"])
    found = {"operant"} | {
        ".".join(["operant", *init.parent.relative_to(ROOT).parts])
        for side in SIDES
        for init in (ROOT / side).rglob("__init__.py")
    }
    assert named == found
    for side in SIDES:
        for path in source_files(side):
            assert (path.parent / "__init__.py").exists(), path


def test_every_pin_of_torch_is_exact():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert "torch==2.13.0" in pins
    assert "cuda-toolkit==13.0.3" in pins  # what torch 2.13.0 for CUDA requires, and no other
    assert all("==" in pin for pin in pins if pin and not pin.startswith("#"))


def test_the_tests_mirror_the_folders():
    """The others need a GPU, real or emulated, hold data or serve many tests."""
    of_their_own = {"__pycache__", "data", "emulated_gpu", "gpu", "support"}
    for folder in (ROOT / "tests").iterdir():
        if folder.is_dir() and folder.name not in of_their_own:
            assert folder.name in {*SIDES, "benchmarks", "examples"}
